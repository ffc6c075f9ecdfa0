"""The names of Qt for this host, from the binding that qtpy chooses.

qtpy's own modules make every enumeration of Qt's classes when they are imported, so that programs for Qt 5 find its
values without their scope. That took a quarter of the processor time until the first painting of the window, which
writes every value with its scope. With PyQt6 the names are therefore taken from PyQt6 itself; with another binding from
qtpy. The classes are the same ones, so widgets of other packages may use qtpy beside these modules.
"""
