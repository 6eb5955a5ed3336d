/**
 * The environment of a test run. It names what tests may take from the machine; everything else, such as the keys and the
 * home directory of the person who runs them, they do not see.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { removeFolder } from '../kit/remove-folder.ts'
import { root } from './plan.ts'
import { createPythonEnvironment, linkSystemPrograms } from './programs.ts'

/** Where programs are, how the person reads, and what starts a child process on all systems. */
const passed = [
  'PATH',
  'TZ',
  'LANG',
  'LC_ALL',
  'LANGUAGE',
  'TERM',
  'USER',
  'LOGNAME',
  'SHELL',
  'CI',
  'HERMES_PROPERTY_RUNS',
]

export interface TestEnvironment {
  readonly environment: NodeJS.ProcessEnv
  /** Removes its folder. Throws the system's error. */
  remove(): void
}

export function createEnvironment(): TestEnvironment {
  const folder = mkdtempSync(join(temporaryDirectory(), 'hermes-test-'))
  // Tests of root start programs as other users, who must reach what is theirs below it.
  chmodSync(folder, 0o711)
  const home = join(folder, 'home')
  const temporary = join(folder, 'tmp')
  for (const path of [home, temporary]) mkdirSync(path)
  const python = createPythonEnvironment(join(folder, 'python'))
  const given = passed.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const environment = {
    ...Object.fromEntries(given),
    PATH: [python, process.env['PATH'], linkSystemPrograms(join(folder, 'bin'))]
      .filter((part) => part !== undefined)
      .join(delimiter),
    HOME: home,
    TMPDIR: temporary,
    // Otherwise each process would compile and strip the types of all sources again.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/hermes-test'),
  }
  return { environment, remove: () => removeFolder(folder) }
}

/**
 * In memory where the machine offers it: most of the tests write databases, and each commit waits for the disk. Tests
 * kill processes but never the machine, so nothing that they prove depends on the disk. A `TMPDIR` of the caller wins.
 */
function temporaryDirectory(): string {
  const inMemory = '/dev/shm'
  if (process.env['TMPDIR'] !== undefined || !existsSync(inMemory)) return tmpdir()
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize > 2 * 2 ** 30 ? inMemory : tmpdir()
}
