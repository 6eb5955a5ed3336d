/**
 * Parses the command line and runs a command, whose module is loaded on demand.
 */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { CliContext } from './kit/context.ts'

type Process = Pick<NodeJS.Process, 'argv' | 'stdout' | 'stderr' | 'env' | 'exit' | 'on' | 'listenerCount'> & {
  exitCode?: number | string | null | undefined
}

/** Runs one command; sets the exit code. Never rejects. */
export async function main(process: Process): Promise<void> {
  const version = readPackageVersion()
  const args = process.argv.slice(2)
  if (args.length === 1 && ['--version', '-V', 'version'].includes(args[0] ?? '')) {
    process.stdout.write(`${version}\n`)
    return
  }
  const context = await openContext(process, version, args)
  if (context === undefined) return
  handleUncaughtErrors(process, context)
  let outputExitCode = 0
  handleOutputErrors(process.stdout, (reason) => {
    outputExitCode = 1
    process.exitCode ||= outputExitCode
    process.stderr.write(`hermes: the output could not be written: ${reason}\n`)
  })
  handleOutputErrors(process.stderr, () => undefined)
  const code = await runCommand(args, context)
  process.exitCode = code === 0 ? outputExitCode : code
  if (context.exitsAfterCommand !== true) return
  await Promise.all([flushOutput(process.stdout), flushOutput(process.stderr)])
  process.exit()
}

/**
 * Node would print an error that no code has caught with all its secrets. A gateway in this process has listeners of its own, which
 * know which errors only affect a plugin.
 */
function handleUncaughtErrors(process: Process, context: CliContext): void {
  let isEnding = false
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      if (isEnding || process.listenerCount(event) > 1) return
      isEnding = true
      void import('./kit/safe-errors.ts')
        .then(({ printUncaught }) => printUncaught(error, context))
        .finally(() => process.exit(1))
    })
  }
}

/** Undefined when the selected profile cannot be used; the reason is reported then. */
async function openContext(
  process: Process,
  version: string,
  args: readonly string[],
): Promise<CliContext | undefined> {
  const [{ createContext }, { selectProfile, takeProfileOption }, { setProcessHome }] = await Promise.all([
    import('./kit/context.ts'),
    import('./kit/profile-selection.ts'),
    import('../config/environment.ts'),
  ])
  try {
    const selected = selectProfile(takeProfileOption(args))
    setProcessHome(selected.home)
    return createContext(version, selected)
  } catch (error) {
    const { reportError } = await import('./kit/report-error.ts')
    process.exitCode = await reportError(error, { errors: process.stderr })
    return undefined
  }
}

/** Resolves when all output was written or has failed. Exiting earlier would truncate the output to a pipe. */
function flushOutput(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => output.write('', () => resolve()))
}

/** Runs a command and resolves with its exit code. Never rejects. */
export async function runCommand(args: readonly string[], context: CliContext): Promise<number> {
  const [{ resolveHelpRequest }, { reportError }, { takeProfileOption }] = await Promise.all([
    import('./kit/help.ts'),
    import('./kit/report-error.ts'),
    import('./kit/profile-selection.ts'),
  ])
  try {
    // The context was created for the profile.
    const commandWords = takeProfileOption(args).words
    const program = await openProgram(context, commandWords)
    const words = commandWords.length === 0 ? ['--help'] : resolveHelpRequest(program, expandTuiOption(commandWords))
    await program.parseAsync(words, { from: 'user' })
    return context.exitCode
  } catch (error) {
    return await reportError(error, context, async (text) => {
      const { withoutSecrets } = await import('./kit/safe-errors.ts')
      return await withoutSecrets(text, context)
    })
  }
}

/** `hermes --tui` is `hermes chat --tui`. (Hermes has both.) */
function expandTuiOption(words: readonly string[]): readonly string[] {
  return words[0] === '--tui' ? ['chat', ...words] : words
}

/** The daemon keeps what it has loaded for as long as it runs, so it defines the commands of the gateway alone. */
async function openProgram(context: CliContext, [group, command]: readonly string[]): Promise<Command> {
  if (group === 'gateway' && command === 'run')
    return (await import('./gateway-program.ts')).buildGatewayProgram(context)
  return (await import('./program.ts')).buildProgram(context)
}

/**
 * Without a listener, a closed pipe (`hermes sessions list | head -1`) would crash the process. A closed pipe or terminal is
 * not a failure; any other write error is, also when it is reported after the command.
 */
function handleOutputErrors(output: NodeJS.WriteStream, onWriteError: (reason: string) => void): void {
  output.on('error', (error) => {
    const code = 'code' in error ? error.code : undefined
    if (code !== 'EPIPE' && code !== 'EIO') onWriteError(error.message)
  })
}

function readPackageVersion(): string {
  const { version }: { version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return version
}
