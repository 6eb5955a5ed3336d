/**
 * The shapes of `/api/workspaces/<platform>/<chat>`.
 */
import { z } from 'zod'

/** What is absent stays as it is. */
export const workspaceBody = z
  .strictObject({
    directory: z
      .string()
      .min(1)
      .max(4_096)
      .nullable()
      .optional()
      .describe('The folder, absolute, in place of `terminal.cwd`. Null removes the folder of the conversation.'),
    mode: z
      .enum(['default', 'yolo'])
      .optional()
      .describe('`yolo`: commands of the owner run without a question until the session ends, as with `/yolo`.'),
    edits: z
      .enum(['ask', 'workspace', 'everywhere'])
      .nullable()
      .optional()
      .describe(
        'Which changes of files its user is asked about: all; those outside of the folder and of `/tmp`; only those of sensitive files. Null: none. Needs a folder.',
      ),
    session_id: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('An earlier session that the conversation goes on with, such as a copy.'),
    mcp_servers: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'MCP servers of this conversation alone, as in the configuration, until the gateway stops. `{}` ends them.',
      ),
  })
  .prefault({})
export type WorkspaceChange = z.input<typeof workspaceBody> & object

export const workspaceResponse = z.object({
  directory: z.string().nullable(),
  mode: z.enum(['default', 'yolo']),
  edits: z.enum(['ask', 'workspace', 'everywhere']).nullable(),
  session_id: z.string().nullable().describe('Null while nothing was written.'),
  tokens: z
    .object({ used: z.int(), window: z.int() })
    .nullable()
    .describe('The tokens of the newest request and its response. Null before the first request.'),
})
export type ApiWorkspace = z.output<typeof workspaceResponse>
