/**
 * Reads the command line and hands over to one file of this folder, loaded on demand.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CliContext } from './context.ts'

type Process = Pick<NodeJS.Process, 'argv' | 'stdout' | 'stderr' | 'env'> & { exitCode?: number | string | null | undefined }

/** Runs one command; sets the exit code. Never rejects. */
export async function main(process: Process): Promise<void> {
  const version = packageVersion()
  const words = process.argv.slice(2)
  if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) {
    process.stdout.write(`${version}\n`)
    return
  }
  const { createContext } = await import('./context.ts')
  const { buildProgram } = await import('./program.ts')
  const context = createContext(version)
  process.exitCode = await run(await buildProgram(context), context, words)
}

async function run(program: Command, context: CliContext, words: readonly string[]): Promise<number> {
  const { exitCodeOf } = await import('./failure.ts')
  try {
    await program.parseAsync(words, { from: 'user' })
    return context.exitCode
  } catch (error) {
    return exitCodeOf(error, context)
  }
}

function packageVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return version
}
