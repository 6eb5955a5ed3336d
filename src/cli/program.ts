/**
 * Builds the command line of `hermes`: commands, options and help texts. The code of a command is imported when it runs.
 */
import type { Command } from 'commander'
import type { CliContext } from './kit/context.ts'
import { createRoot } from './kit/help.ts'
import { addBatchCommands } from './program/batch.ts'
import { addChatCommands } from './program/chat.ts'
import { addGatewayCommands } from './program/gateway.ts'
import { addInspectCommands, addMaintainCommands } from './program/maintain.ts'
import { addOperateCommands } from './program/operate.ts'
import { commandsOf } from './program/options.ts'

export function buildProgram(context: CliContext): Command {
  const root = createRoot(context)
  const commands = commandsOf(root, context)
  addGatewayCommands(commands)
  addChatCommands(commands)
  addBatchCommands(commands)
  addInspectCommands(commands)
  addOperateCommands(commands)
  addMaintainCommands(commands)
  return root
}
