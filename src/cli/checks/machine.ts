/**
 * The machine: Node, programs that tools and hooks use, space on the disk, the folder commands start in.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

/** main.mjs has refused a Node that is too old. */
export const checkNode: Check = () => [ok('Node', `${process.versions.node}, ${process.platform} ${process.arch}`)]

const megabyte = 1024 * 1024
const minFreeBytes = 100 * megabyte
const lowFreeBytes = 1024 * megabyte

export const checkDiskSpace: Check = ({ context: { home } }) => {
  const { bavail, bsize } = statfsSync(nearestExistingDirectory(home.root))
  const free = bavail * bsize
  const text =
    free >= 1024 * megabyte ? `${(free / megabyte / 1024).toFixed(1)} GB` : `${Math.floor(free / megabyte)} MB`
  if (free < minFreeBytes) {
    return [problem('Disk', `${text} free where the home is`, 'Free some space: messages are refused once it is full.')]
  }
  return [
    free < lowFreeBytes
      ? note('Disk', `${text} free where the home is`, 'Free some space soon.')
      : ok('Disk', `${text} free`),
  ]
}

function nearestExistingDirectory(path: string): string {
  return existsSync(path) ? path : nearestExistingDirectory(dirname(path))
}

const programs = [
  { names: ['python3'], use: 'hooks and plugins written in Python' },
  { names: ['rg'], use: 'fast searching in files; a slower search takes its place' },
  { names: ['bash', 'sh'], use: 'commands of the agent' },
] as const

export const checkPrograms: Check = ({ context: { environment } }) =>
  programs.map(({ names, use }): CheckResult => {
    const found = names.flatMap((name) => findProgram(name, environment['PATH'] ?? '') ?? [])[0]
    const name = names.join(' or ')
    return found === undefined
      ? note(name, `not found on the PATH: ${use}`, `Install ${names[0]} if you need it.`)
      : ok(name, found)
  })

function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter(isAbsolute)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // Not there, or not ours to run: the next folder of the PATH may have it.
    return false
  }
}

export const checkWorkingDirectory: Check = ({ settings: { config }, context: { home } }) => {
  const configured = config.current().terminal.cwd
  const folder = configured || config.environment().values['HOME'] || home.root
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) {
    return [ok('Work folder', `commands of the agent start in ${folder}`)]
  }
  if (configured === '' && folder === home.root) return [ok('Work folder', `${folder} (made at the first start)`)]
  return [
    problem('Work folder', `${folder} is not a folder`, 'Create it, or set `terminal.cwd` to a folder that exists.'),
  ]
}
