/**
 * The Python that tests use. A version manager puts a shell script on the path that starts a dozen shells, and `.pth` files
 * of site packages import modules at every start. Tests start some two hundred interpreters and need neither.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Creates a virtual environment without packages in the folder, and returns its directory of programs. `undefined` where
 * there is no Python: the tests that need one are skipped.
 */
export function createPythonEnvironment(folder: string): string | undefined {
  const script = 'import os, sys; print(os.path.realpath(sys.executable))'
  const { status, stdout } = spawnSync('python3', ['-c', script], { encoding: 'utf8' })
  if (status !== 0) return undefined
  const interpreter = stdout.trim()
  const programs = join(folder, 'bin')
  mkdirSync(programs, { recursive: true })
  symlinkSync(interpreter, join(programs, 'python3'))
  writeFileSync(join(folder, 'pyvenv.cfg'), `home = ${dirname(interpreter)}\ninclude-system-site-packages = false\n`)
  return programs
}
