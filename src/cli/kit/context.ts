/**
 * The dependencies of commands: the process as parameters.
 */

import { fileURLToPath } from 'node:url'
import { type ProcessEnvironment, readEnvironment } from '../../config/environment.ts'
import { createHomeLayout, type HomeLayout } from '../../lib/home.ts'
import type { Input, Output } from '../../lib/terminal-streams.ts'
import type { SelectedProfile } from './profile-selection.ts'

/** The option of commands that print for scripts. */
export interface JsonOption {
  readonly json: boolean
}

export interface CliContext {
  readonly version: string
  /** The home of the selected profile. */
  readonly home: HomeLayout
  /** The home below which all profiles are, whichever is selected. */
  readonly rootHome: string
  readonly profile: string
  /** The variables of the process, without `.env`. */
  readonly environment: ProcessEnvironment
  /** Directories that contain platforms, the bundled one first. */
  readonly platformDirectories: readonly string[]
  /** The command line that runs this program. */
  readonly program: readonly string[]
  /** The directory of the documentation. */
  readonly docsDirectory: string
  readonly input: Input
  readonly output: Output
  readonly errors: Output
  /** The exit code of the process; set by commands. */
  exitCode: number
  /** Exits the process after the command, even if code of extensions has left handles open. Default: false. */
  exitsAfterCommand?: boolean
}

export function createContext(version: string, { rootHome, profile, home: root }: SelectedProfile): CliContext {
  const home = createHomeLayout(root)
  const packagePath = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
  return {
    version,
    home,
    rootHome,
    profile,
    environment: readEnvironment(home.envFile).process,
    platformDirectories: [packagePath('platforms'), home.platforms, `${home.plugins}/platforms`],
    program: [process.execPath, packagePath('src/main.mjs')],
    docsDirectory: packagePath('docs'),
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    exitCode: 0,
  }
}
