"""The resources of the process, which all higher packages share: threads, locks, interrupts, memory and shortcuts."""
