/**
 * How a host of each language is started.
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
   * Limit for writable memory (RLIMIT_DATA): what the runtime reserves before it does anything, plus what is granted.
   * V8 reserves 512 MB of address space for code; a thread of Python 8 MB for its stack.
   */
  readonly dataLimitMb: number
}

export const hostCommands: Readonly<Record<HostLanguage, (options: HostCommandOptions) => HostCommand>> = {
  node: ({ command = process.execPath, cacheFolder, memoryMb, maxFrameBytes }) => ({
    command,
    args: [
      `--max-old-space-size=${memoryMb}`,
      '--max-semi-space-size=2',
      // Handlers live in folders without a package.json, and stripping types is what we ask for.
      '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
      '--disable-warning=ExperimentalWarning',
      nodeHost,
      JSON.stringify({ cacheFolder, maxFrameBytes }),
    ],
    dataLimitMb: memoryMb + 768,
  }),
  python: ({ command = 'python3', memoryMb, maxFrameBytes }) => ({
    command,
    // No compiled files beside other people's handlers; they would also be stale after two edits within a second.
    args: ['-u', '-B', '-X', 'utf8', pythonHost, JSON.stringify({ maxFrameBytes })],
    dataLimitMb: memoryMb + 256,
  }),
}
