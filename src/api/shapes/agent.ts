/**
 * The shapes of `/api/memory`, `/api/skills`, `/api/toolsets`, `/api/mcp` and `/api/environment`.
 */
import { z } from 'zod'

const texts = z.array(z.string())
const target = z.enum(['memory', 'user']).describe('The notes of the agent, or the profile of the owner.')

export const memoryResponse = z.object({
  files: z.array(
    z.object({
      target,
      path: z.string(),
      enabled: z.boolean(),
      entries: texts,
      usage: z.string(),
      state: z.string(),
      problem: z.string(),
    }),
  ),
  archived: z
    .array(z.object({ archived_at: z.string(), target: z.string(), content: z.string() }))
    .describe('Entries that made room, the newest first.'),
})
export const memoryBody = z.strictObject({
  target,
  operations: z
    .array(
      z.strictObject({
        action: z.enum(['add', 'replace', 'remove']),
        content: z.string().max(100_000).optional(),
        old_text: z.string().max(100_000).optional().describe('A part of the entry that is replaced or removed.'),
      }),
    )
    .min(1)
    .max(50),
})

const skill = {
  name: z.string(),
  description: z.string(),
  category: z.string(),
  origin: z.string().describe('Only those of `home` can be changed.'),
  version: z.string(),
}
export const skillsResponse = z.object({
  skills: z.array(z.object(skill)),
  problems: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
})
export const skillResponse = z.object({
  ...skill,
  text: z.string(),
  files: texts,
  problem: z.string().describe('Why the agent is not given the text; empty if it is.'),
  missing: texts.describe('Variables that are not set.'),
})
export const skillBody = z.strictObject({
  action: z.enum(['create', 'edit', 'delete']),
  name: z.string().min(1).max(200),
  content: z.string().max(200_000).optional().describe('The whole SKILL.md.'),
  category: z.string().max(64).optional(),
})
export const changedSkillResponse = z.object({ path: z.string(), warnings: texts })
const source = z.string().regex(/^\//, 'expected an absolute path').max(4_096)
export const sourceBody = z.strictObject({
  source: source.describe('A folder or an archive on the machine of the gateway.'),
})
export const installBody = z.strictObject({
  source,
  category: z.string().max(64).default(''),
  replace: z.boolean().default(false),
})
export const scannedResponse = z.object({
  skills: z.array(
    z.object({
      name: z.string(),
      files: texts,
      warnings: texts,
      variables: texts.describe('Environment variables that its commands get.'),
    }),
  ),
})

export const toolsetsResponse = z.object({
  platforms: texts,
  toolsets: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['on', 'off', 'partly']),
      reason: z.string().optional(),
      tools: texts,
    }),
  ),
})

export const mcpResponse = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      state: z.enum(['on', 'off', 'unknown', 'failing']),
      connection: z.string(),
      tools: texts,
      problem: z.string(),
    }),
  ),
})

export const environmentResponse = z.object({
  backend: z.string(),
  cwd: z.string(),
  sandbox: z.string().describe('The kind that is in use; `none` without one.'),
  reason: z.string().describe('Why there is no sandbox; empty if there is one.'),
})
