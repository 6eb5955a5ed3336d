/**
 * The programs that tests may use: what POSIX requires of every system, and Python. Everything else that a test needs, such as
 * bubblewrap or ripgrep, it looks up in the PATH of the caller, and it is skipped without it.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { findProgram } from '../../src/lib/find-program.ts'

/** Commands of tests use them, as the commands of a model would. `bash` is what the gateway prefers as a shell. */
const systemPrograms =
  `awk basename bash base64 cat chmod chown cmp cp cut date dd diff dirname du echo env expr false find
  fold getconf grep gzip head id kill ln ls mkdir mkfifo mktemp mv nice nl nohup od paste printf ps pwd readlink realpath rm rmdir sed seq
  setsid sh sleep sort stat stty tail tar tee test timeout touch tr true tty uname uniq wc which whoami xargs yes`.split(
    /\s+/,
  )

/** Where the system has them, whatever the PATH of the caller. */
const systemPath = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin'].join(delimiter)

/** Links the programs into the folder. A program that this machine lacks is left out. */
export function linkSystemPrograms(folder: string): string {
  mkdirSync(folder)
  for (const name of systemPrograms) {
    const file = findProgram(name, systemPath)
    if (file !== undefined) symlinkSync(file, join(folder, name))
  }
  return folder
}

/**
 * Creates a virtual environment without packages in the folder, and returns its directory of programs. `undefined` where
 * there is no Python: the tests that need one are skipped. A version manager puts a shell script on the path that starts a dozen
 * shells, and `.pth` files of site packages import modules at every start. Tests start some two hundred interpreters and need
 * neither.
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
