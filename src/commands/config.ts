/**
 * The configuration section for commands that the operator defines.
 */
import { z } from 'zod'
import type { ConfigOf } from '../config/section.ts'

const quickCommand = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('exec'),
    command: z.string().min(1).max(20_000),
    description: z.string().max(100).default(''),
    everybody: z.boolean().default(false),
  }),
  z.object({
    type: z.literal('alias'),
    target: z.string().min(1).max(2_000),
    description: z.string().max(100).default(''),
  }),
])

export const commandsConfig = {
  quick_commands: z
    .record(
      z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be lower case letters, digits, _ and -, at most 32 of them'),
      quickCommand,
    )
    .default({})
    .describe(
      'Slash commands of the operator, by name. `{type: exec, command}` runs a shell command for at most 30 s in the sandbox of the agent and replies with its output; it is for owners unless `everybody` is true. `{type: alias, target}` stands for another command with its arguments. Built-in commands win.',
    ),
} as const

export type CommandsConfig = ConfigOf<typeof commandsConfig>
export type QuickCommands = CommandsConfig['quick_commands']
