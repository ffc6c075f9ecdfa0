-- Module file of zarrscope for Lmod; packaging/cluster/install fills in the version and the folder.
help([[
zarrscope opens any Zarr, in the terminal over SSH:
    zarrscope tui /scratch/cells.zarr      q quits, ? lists the keys
    zarrscope tree | info | render | check --help
]])
whatis("Name: zarrscope")
whatis("Version: @VERSION@")
whatis("Description: Explorer for Zarr volumes, in the terminal and on the command line")
conflict("zarrscope")
prepend_path("PATH", "@PREFIX@/bin")
