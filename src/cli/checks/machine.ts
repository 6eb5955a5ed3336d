/**
 * Checks the machine: Node, the programs that tools and hooks use, disk space, and the working directory of commands.
 */

import { existsSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findBrowser } from '../../agent/browser/find-browser.ts'
import { runsOnThisMachine } from '../../agent/environments/kinds.ts'
import { isSystemDirectory } from '../../agent/sandbox/hidden-paths.ts'
import { workingDirectory } from '../../flows/environments/working-directory.ts'
import { ensureDirectory } from '../../lib/files.ts'
import { findProgram } from '../../lib/find-program.ts'
import { browserProposal, findUnusedBrowser } from '../shared/unused-browser.ts'
import { type Check, type CheckResult, note, ok, problem } from './check-result.ts'

/** main.mjs refuses a Node that is too old. */
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
    return [
      problem(
        'Disk',
        `${text} free on the disk of the home`,
        'Free some space: messages are refused when the disk is full.',
      ),
    ]
  }
  return [
    free < lowFreeBytes
      ? note('Disk', `${text} free on the disk of the home`, 'Free some space soon.')
      : ok('Disk', `${text} free`),
  ]
}

function nearestExistingDirectory(path: string): string {
  return existsSync(path) ? path : nearestExistingDirectory(dirname(path))
}

const programs = [
  { names: ['python3'], use: 'hooks and plugins written in Python' },
  { names: ['rg'], use: 'fast file search; a slower search is used without it' },
  { names: ['bash', 'sh'], use: 'commands of the agent' },
] as const

export const checkPrograms: Check = ({ context: { environment } }) =>
  programs.map(({ names, use }): CheckResult => {
    const program = names.flatMap((name) => findProgram(name, environment['PATH'] ?? '') ?? [])[0]
    const name = names.join(' or ')
    return program === undefined
      ? note(name, `not found on the PATH: ${use}`, `Install ${names[0]} if you need it.`)
      : ok(name, program)
  })

/** The browser of the agent (`browser_*`). */
export const checkBrowser: Check = ({ settings }) => {
  const { config } = settings
  const { browser } = config.current()
  if (browser.enabled === false) return [ok('Browser', 'off (browser.enabled)')]
  const program = findBrowser(browser, config.environment().values['PATH'] ?? '')
  if (program === undefined)
    return [note('Browser', 'none found: the agent cannot use web pages', 'Install chromium if it is to.')]
  // The address may contain a token.
  if ('cdpUrl' in program) return [ok('Browser', `${new URL(program.cdpUrl).host} (browser.cdp_url)`)]
  const { executablePath } = program
  if (findProgram(executablePath, '/') === undefined)
    return [problem('Browser', `${executablePath} is no program`, 'Correct `browser.executable_path`.')]
  if (findUnusedBrowser(settings) !== undefined)
    return [note('Browser', `${executablePath}, not offered to the agent`, browserProposal)]
  return [
    process.getuid?.() === 0
      ? note(
          'Browser',
          `${executablePath}, without its own sandbox, because this is root`,
          'Run the gateway as a user.',
        )
      : ok('Browser', executablePath),
  ]
}

export const checkWorkingDirectory: Check = ({ settings: { config }, context: { home } }) => {
  const { terminal } = config.current()
  if (!runsOnThisMachine(terminal.backend)) return []
  const configured = terminal.cwd
  const directory = workingDirectory({ home, settings: config.current, environment: config.environment })
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) {
    const isListed = terminal.sandbox_write.some((path) => resolve(path) === directory)
    if (
      (terminal.backend === 'bwrap' || terminal.sandbox !== 'off') &&
      !isListed &&
      isSystemDirectory(realpathSync(directory))
    ) {
      const text = `${directory} contains files of the system, so commands of the agent may only read it`
      return [note('Work folder', text, 'Set `terminal.cwd` to a folder for the work of the agent.')]
    }
    return [ok('Work folder', `commands of the agent start in ${directory}`)]
  }
  if (configured === '' && (directory === home.root || directory === home.workspace))
    return [ok('Work folder', `${directory} (created when it is needed)`)]
  // A longer path that is missing is probably a typing error.
  const canCreate = !existsSync(directory) && existsSync(dirname(directory))
  const fix = { what: `create the folder ${directory}`, apply: () => ensureDirectory(directory) }
  const advice = 'Create it, or set `terminal.cwd` to an existing folder.'
  return [{ ...problem('Work folder', `${directory} is not a folder`, advice), fix: canCreate ? fix : undefined }]
}
