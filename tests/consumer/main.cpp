// The program of another project, which has fovea in a shared library of its own.
bool trains();

int main() { return trains() ? 0 : 1; }
