/**
 * The configuration keys of the agent's memory, as defined in the contract (§4.6).
 */
import { z } from 'zod'
import type { ConfigOf } from '../../config/section.ts'

/** The scan reads no more of a file, if each character is an emoji. */
const maxLimit = 30_000

export const memoryConfig = {
  memory: z
    .object({
      memory_enabled: z
        .boolean()
        .default(true)
        .describe('Whether the agent keeps notes of its own in `memories/MEMORY.md`.'),
      user_profile_enabled: z
        .boolean()
        .default(true)
        .describe('Whether the agent keeps a profile of its owner in `memories/USER.md`.'),
      memory_char_limit: z
        .int()
        .min(1)
        .max(maxLimit)
        .default(2_200)
        .describe('Maximum number of characters of MEMORY.md. All of it is in the prompt of every conversation.'),
      user_char_limit: z.int().min(1).max(maxLimit).default(1_375).describe('As `memory_char_limit`, for USER.md.'),
      write_approval: z
        .boolean()
        .default(false)
        .describe('Asks an owner before each change of the memory. Where no owner can be asked, nothing is changed.'),
      on_full: z
        .enum(['refuse', 'archive'])
        .default('refuse')
        .describe(
          'What happens when a new entry does not fit: `refuse` lets the agent shorten or remove others first, `archive` moves the oldest to `memories/ARCHIVE.jsonl`.',
        ),
      group_memory: z
        .enum(['none', 'notes', 'all'])
        .default('none')
        .describe(
          'What the agent remembers in conversations in groups: nothing, its notes, or also the profile of the owner, and what a memory provider knows that does not keep chats apart. Everybody in the group can ask for it.',
        ),
      flush_min_turns: z
        .int()
        .min(0)
        .default(6)
        .describe(
          'Before a part of a private conversation with at least this many messages of its user is summarised, the model may save facts from it. 0: never. Not with `write_approval`.',
        ),
      provider: z
        .string()
        .optional()
        .describe(
          'The plugin with the long-term memory, in addition to the built-in memory: `honcho` is `plugins/memory/honcho`.',
        ),
    })
    .prefault({})
    .describe('Memory of the agent.'),
} as const

export type MemorySettings = ConfigOf<typeof memoryConfig>['memory']
