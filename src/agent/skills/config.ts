/**
 * The configuration keys of skills (contract S2).
 */
import { z } from 'zod'

export const skillsConfig = {
  skills: z
    .object({
      external_dirs: z
        .array(z.string().min(1))
        .default([])
        .describe(
          'Further folders with skills, which are only read. `~` is the home directory of the user; relative paths start at the home of the gateway. The skills of the home win.',
        ),
      disabled: z
        .array(z.string().min(1))
        .default([])
        .describe('Names of skills that are not used, for example of those that ship with the gateway.'),
      write_approval: z
        .boolean()
        .default(false)
        .describe(
          'Asks an owner before each change of a skill. Without it, an owner is asked about changes that members cause, and about new environment variables.',
        ),
      config: z
        .record(z.string(), z.unknown())
        .default({})
        .describe('Values of the settings that skills declare under `metadata.hermes.config`, by their keys.'),
    })
    .prefault({}),
} as const
