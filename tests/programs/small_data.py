"""A small data set for the training programs."""


def small_cifar(folder):
    """CIFAR-10's files, with eight records each."""
    folder.mkdir()
    record = [bytes([k % 10]) + bytes((k * 37 + i) % 256 for i in range(3072)) for k in range(8)]
    for file in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        (folder / file).write_bytes(b"".join(record))


def data_flags(program, folder):
    """Flags that select the program's data set: 40 drawn rooms, or the files of small_cifar()."""
    if program == "train_depth":
        return ["--dataset", "rooms", "--fraction", str(40 / 8192)]
    return ["--dataset", "cifar10", "--data-dir", folder]
