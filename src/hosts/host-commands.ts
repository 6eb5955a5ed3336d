/**
 * The command line of the host for each language.
 */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import type { HostLanguage } from './contract.ts'

const nodeHost = fileURLToPath(new URL('./node/main.mjs', import.meta.url))
const pythonHost = fileURLToPath(new URL('./python/main.py', import.meta.url))

export interface HostCommandOptions {
  readonly command: string | undefined
  readonly cacheFolder: string | undefined
  readonly memoryMb: number
  readonly maxFrameBytes: number
}

export interface HostCommand {
  readonly command: string
  readonly args: readonly string[]
  /**
   * Limit of writable memory (RLIMIT_DATA): the memory that the runtime reserves at start plus the granted memory. V8
   * reserves 512 MB of address space for code, and a Python thread 8 MB for its stack.
   */
  readonly dataLimitMb: number
}

export const hostCommands: Readonly<Record<HostLanguage, (options: HostCommandOptions) => HostCommand>> = {
  node: ({ command = process.execPath, cacheFolder, memoryMb, maxFrameBytes }) => ({
    command,
    args: [
      `--max-old-space-size=${memoryMb}`,
      '--max-semi-space-size=2',
      // Without it the signal opens the debugger, on a port where every user of the machine can run code in the process.
      '--disable-sigusr1',
      // Handler directories have no package.json, and type stripping is intended.
      '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
      '--disable-warning=ExperimentalWarning',
      nodeHost,
      JSON.stringify({ cacheFolder, maxFrameBytes }),
    ],
    dataLimitMb: memoryMb + 768,
  }),
  python: ({ command = 'python3', memoryMb, maxFrameBytes }) => ({
    command,
    // No bytecode files next to handlers. They would also be stale after two edits within one second.
    args: ['-u', '-B', '-X', 'utf8', pythonHost, JSON.stringify({ maxFrameBytes })],
    dataLimitMb: memoryMb + 256,
  }),
}
