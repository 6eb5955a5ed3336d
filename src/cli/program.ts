/**
 * The command line as people see it in `hermes --help`. Each command imports its own file when it runs.
 */
import { Command } from 'commander'
import type { CliContext } from './context.ts'

export async function buildProgram(context: CliContext): Promise<Command> {
  const program = new Command('hermes').version(context.version).exitOverride()
  const gateway = program.command('gateway').description('the daemon')
  gateway
    .command('run')
    .description('run the daemon in the foreground')
    .option('--strict', 'end with exit code 78 when the configuration cannot be used', false)
    .action(async (options: { strict: boolean }) => {
      const { gatewayRun } = await import('./gateway-run.ts')
      await gatewayRun(context, options)
    })
  return program
}
