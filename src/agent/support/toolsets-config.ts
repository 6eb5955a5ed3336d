/**
 * The configuration keys that say which tools the model is offered (contract S12).
 */
import { z } from 'zod'

/** A number is the name of an MCP server in files of Hermes. */
const entry = z.union([z.string().min(1).max(200), z.int()]).transform(String)

export const toolsetsConfig = {
  toolsets: z
    .array(entry)
    .default(['all'])
    .describe(
      'The toolsets and tools that the model is offered on platforms without a list in `platform_toolsets`; `-name` takes one away. Counts for new conversations.',
    ),
  platform_toolsets: z
    .record(z.string(), z.array(entry))
    .default({})
    .describe(
      'As `toolsets`, for one platform, for example `telegram: [hermes-telegram, -terminal]`. Without an entry, a webhook has `hermes-webhook`, and an editor `hermes-acp`.',
    ),
  custom_toolsets: z
    .record(
      z
        .string()
        .regex(/^(?!hermes-)[\w-]{1,64}$/, 'must have at most 64 letters, digits, _ and -, and not begin with hermes-'),
      z.array(entry),
    )
    .default({})
    .describe('Toolsets of your own: a name, and the toolsets and tools that it contains.'),
} as const
