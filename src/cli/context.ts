/**
 * What every command is given: the process it runs in, as parameters.
 */
import { fileURLToPath } from 'node:url'
import { homeDirectory, type ProcessEnvironment, readEnvironment } from '../config/environment.ts'
import { createHomeLayout, type HomeLayout } from '../lib/home.ts'

/** `process.stdin`, or anything that reads like it. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean }
/** `process.stdout` and `process.stderr`, or anything that writes like them. */
export type Output = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number }

export interface CliContext {
  readonly version: string
  readonly home: HomeLayout
  /** The variables of the process, without `.env`. */
  readonly environment: ProcessEnvironment
  /** Folders of platform folders, the shipped ones first. */
  readonly platformDirectories: readonly string[]
  /** The command line that runs this program. */
  readonly program: readonly string[]
  /** The folder of the documentation. */
  readonly docsDirectory: string
  readonly input: Input
  readonly output: Output
  readonly errors: Output
  /** What the process ends with; commands set it. */
  exitCode: number
  /** The process ends with its command, whatever the code of others that it ran has left open. False if left out. */
  exitsAfterCommand?: boolean
}

export function createContext(version: string): CliContext {
  const home = createHomeLayout(homeDirectory())
  const folder = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))
  return {
    version,
    home,
    environment: readEnvironment(home.envFile).process,
    platformDirectories: [folder('platforms'), home.platforms, `${home.plugins}/platforms`],
    program: [process.execPath, folder('src/main.mjs')],
    docsDirectory: folder('docs'),
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    exitCode: 0,
  }
}
