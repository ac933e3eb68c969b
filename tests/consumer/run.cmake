# cmake -DBUILD=... -DFOLDER=... -DGENERATOR=... -DCOMPILER=... -DVERSION=... -P run.cmake:
# installs the build into a folder with a blank in its name, builds the program here against it in
# another, and runs it.
set(folder "${FOLDER}/an installed fovea")
file(REMOVE_RECURSE "${folder}")
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${folder}/prefix")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/" DESTINATION "${folder}/source")
run(${CMAKE_COMMAND} -S "${folder}/source" -B "${folder}/build" -G "${GENERATOR}"
    "-DFOVEA_VERSION=${VERSION}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_PREFIX_PATH=${folder}/prefix")
run(${CMAKE_COMMAND} --build "${folder}/build")
run("${folder}/build/consumer")
run("${folder}/prefix/bin/train_cifar" --version)
file(REMOVE_RECURSE "${folder}")
