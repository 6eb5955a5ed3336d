/**
 * The part of the command line that starts the daemon.
 */
import type { Command } from 'commander'
import type { CliContext } from './context.ts'
import { createRoot } from './help.ts'
import { addGatewayCommands } from './program/gateway.ts'

export function buildGatewayProgram(context: CliContext): Command {
  const root = createRoot(context)
  addGatewayCommands(root, context)
  return root
}
