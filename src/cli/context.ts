/**
 * What every command is given: the process it runs in, as parameters.
 */
import { fileURLToPath } from 'node:url'
import { homeDirectory, type ProcessEnvironment, readEnvironment } from '../config/environment.ts'
import { createHomeLayout, type HomeLayout } from '../lib/home.ts'

export interface CliContext {
  readonly version: string
  readonly home: HomeLayout
  /** The variables of the process, without `.env`. */
  readonly environment: ProcessEnvironment
  /** Folders of platform folders, the shipped ones first. */
  readonly platformFolders: readonly string[]
  /** The command line that runs this program. */
  readonly program: readonly string[]
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  readonly errors: NodeJS.WriteStream
  /** What the process ends with; commands set it. */
  exitCode: number
}

export function createContext(version: string): CliContext {
  const home = createHomeLayout(homeDirectory())
  const shipped = fileURLToPath(new URL('../../platforms', import.meta.url))
  return {
    version,
    home,
    environment: readEnvironment(home.envFile).process,
    platformFolders: [shipped, home.platforms, `${home.plugins}/platforms`],
    program: [process.execPath, fileURLToPath(new URL('../main.mjs', import.meta.url))],
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    exitCode: 0,
  }
}
