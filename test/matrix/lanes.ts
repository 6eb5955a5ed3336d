/**
 * The machines that the tests must be green on.
 */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'

export interface Lane {
  readonly name: string
  /** What it shows. */
  readonly purpose: string
  /** Differences from the environment of the caller. `undefined` removes a variable. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** The only programs on the path besides Node; otherwise the path of the caller. */
  readonly onlyPrograms?: readonly string[]
  /** The names of the home directory and of the folder for temporary files. */
  readonly folders?: string
  /** The user who runs the tests; otherwise the caller. */
  readonly user?: 'root' | 'unprivileged'
  /** Processes that do nothing but use a core. */
  readonly busyProcesses?: number
  readonly times?: number
}

export const lanes: readonly Lane[] = [
  { name: 'bare', purpose: 'no programs besides Node, git and sh', onlyPrograms: ['git', 'sh'] },
  { name: 'all', purpose: 'all programs of this machine' },
  { name: 'root', purpose: 'as root', user: 'root' },
  { name: 'user', purpose: 'as a user without rights', user: 'unprivileged' },
  {
    name: 'locale',
    purpose: 'a time zone 12:45 hours ahead, and a language with other capital letters',
    environment: { TZ: 'Pacific/Chatham', LANG: 'tr_TR.UTF-8', LC_ALL: undefined, LANGUAGE: undefined },
  },
  { name: 'folders', purpose: 'folders with spaces and letters outside of ASCII', folders: 'Mein ü' },
  { name: 'load', purpose: 'four busy processes, five times', busyProcesses: 4, times: 5 },
]

/** Programs that some tests need, with the Debian package that has them. */
const programs: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  python3: 'python3',
  rg: 'ripgrep',
  chromium: 'chromium',
  podman: 'podman',
  sshd: 'openssh-server',
}

/** The packages without which the lane skips tests. */
export function missingPackages(path: string): string[] {
  return Object.keys(programs)
    .filter((program) => findProgram(program, path) === undefined)
    .map((program) => programs[program] ?? program)
}

export function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  // Debian keeps servers outside of the path of users.
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), '/usr/sbin']
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}
