/**
 * The shapes of the routes that manage the gateway, as `shapes.ts` has those of conversations. Objects that other parts of the gateway
 * own are open: they may have more members than the document shows.
 */
import { z } from 'zod'

const text = z.string().trim().min(1)
const millis = z.number().describe('ms since 1970')
const reasons = z.array(z.string())

export const okResponse = z.object({ ok: z.boolean() })
export const healthResponse = z.object({ status: z.literal('ok') })

const platformHealth = z.object({
  state: z.string(),
  reason: z.string().optional(),
  receiving: z.boolean().optional().describe('Whether data arrived within the last 90 seconds.'),
})
export const readyResponse = z.object({
  status: z.enum(['starting', 'ready', 'draining']),
  platforms: z.record(z.string(), platformHealth).optional().describe('With the token.'),
  degraded: reasons.optional().describe('With the token: a sentence for each limitation.'),
})

export const statusResponse = z.looseObject({
  version: z.string(),
  pid: z.int(),
  home: z.string(),
  url: z.string(),
  status: z.enum(['starting', 'ready', 'draining']),
  uptimeMs: z.number(),
  model: z.string(),
  provider: z.string(),
  platforms: z.record(z.string(), platformHealth),
  degraded: reasons,
  pendingRestart: reasons,
  turns: z.object({ running: z.int(), waiting: z.int() }),
  background: z.array(z.looseObject({})),
  hooks: z.array(z.looseObject({})),
  plugins: z.array(z.looseObject({})),
  daemons: z.array(z.looseObject({ name: z.string(), state: z.string() })),
  homeChannels: z.array(
    z.looseObject({ target: z.looseObject({ platform: z.string(), account: z.string(), chatId: z.string() }) }),
  ),
})

export const rowBody = z.object({ id: z.int().describe('The number of the row.') })
export const inboxResponse = z.array(
  z.looseObject({
    seq: z.int(),
    session_key: z.string(),
    platform: z.string(),
    chat_id: z.string(),
    state: z.string(),
    tries: z.int(),
    reason: z.string().nullable(),
    accepted_at: millis,
  }),
)
export const outboxResponse = z.array(
  z.looseObject({
    id: z.int(),
    platform: z.string(),
    chat_id: z.string(),
    text: z.string(),
    tries: z.int(),
    error: z.string().nullable(),
    created_at: millis,
  }),
)

export const rememberedResponse = z.array(
  z.object({
    id: z.string().describe('For `POST /api/approvals/revoke`.'),
    covers: z.string(),
    where: z.string(),
    by: z.string(),
  }),
)
export const revokeBody = z.object({
  id: z
    .union([z.string().min(1), z.int()])
    .transform((id) => (typeof id === 'number' ? `g${id}` : id))
    .describe('An id of the list, or the number of a grant.'),
})

const pairingRequest = z.looseObject({ platform: z.string(), userId: z.string(), userName: z.string() })
export const pairingResponse = z.object({
  pending: z.array(pairingRequest),
  approved: z.array(z.looseObject({ platform: z.string(), userId: z.string() })),
  locked: z.array(z.looseObject({ platform: z.string() })),
  damaged: z.array(z.string()),
})
export const pairingApproveBody = z.object({ platform: text, code: text.describe('The code, or the id of a request.') })
export const pairingApproveResponse = z.object({
  platform: z.string(),
  user_id: z.string(),
  user_name: z.string(),
  problem: z.string().optional().describe('What has not worked.'),
  owners_named: z.array(z.string()).optional(),
})
export const pairingRevokeBody = z.object({ platform: text, user_id: text })
export const pairingDenyBody = z.object({
  platform: text,
  person: text.describe('The id of the user, or of the request.'),
  via: text.default('api').describe('Named in the trace.'),
})
export const pairingDenyResponse = z.object({ platform: z.string(), user_id: z.string(), user_name: z.string() })
export const pairingClearBody = z.object({ platform: text.optional() })
export const pairingClearResponse = z.object({ cleared: z.int() })

export const commandsResponse = z.array(z.object({ name: z.string(), description: z.string(), argsHint: z.string() }))
export const toolsResponse = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      toolset: z.string(),
      isOptional: z.boolean().optional(),
      plugin: z.string().optional(),
    }),
  ),
})

export const promptQuery = z.object({ platform: z.string().min(1).default('cli') })
const size = { bytes: z.int(), tokens: z.int() }
export const promptResponse = z.object({
  platform: z.string(),
  layers: z.array(z.object({ name: z.string(), text: z.string(), ...size })),
  prompt: z.object(size),
  ephemeral: z.object({ text: z.string(), messages: z.int(), ...size }),
  tools: z.array(z.object({ name: z.string(), ...size })),
})

export const pauseBody = z.union([
  z.object({ off: z.literal(true) }).describe('Ends the pause.'),
  z.object({ off: z.literal(false).optional(), reason: z.string() }),
])

export const hooksResponse = z.object({
  hooks: z.array(z.looseObject({ name: z.string(), state: z.string(), events: z.array(z.string()) })),
  processes: z.array(z.looseObject({ name: z.string(), state: z.string() })),
})
export const hookBody = z.object({ name: z.string().describe('The name of a hook.') })
export const hookTestBody = z.object({
  name: z.string(),
  event: z
    .string()
    .regex(/^[^\s:]+:\S+$/)
    .describe('For example `agent:end`.'),
  context: z.record(z.string(), z.unknown()).optional().describe('Without it: a sample.'),
})
export const hookTestResponse = z.union([
  z.object({ ok: z.literal(true), ms: z.number(), value: z.unknown() }),
  z.object({ ok: z.literal(false), ms: z.number(), error: z.string(), stack: z.string() }),
])
export const pluginsResponse = z.object({
  plugins: z.array(
    z.looseObject({ id: z.string(), name: z.string(), version: z.string(), state: z.string(), reason: z.string() }),
  ),
})

export const jobsQuery = z.strictObject({
  limit: z.coerce.number().pipe(z.int().min(1).max(200)).optional().meta({
    type: 'integer',
    minimum: 1,
    maximum: 200,
    description: 'How many jobs a page has at most; default: all.',
  }),
  cursor: z.string().min(1).max(1_000).optional(),
})
export const jobsResponse = z.object({
  next_cursor: z.string().nullable().optional().describe('The cursor for the next page of a list. Null at the end.'),
  ok: z.literal(true),
  action: z.string(),
  jobs: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      prompt: z.string(),
      schedule_display: z.string(),
      state: z.string(),
      deliver: z.string(),
      next_run_at: z.string().nullable(),
    }),
  ),
})

export const sendResponse = z.object({
  results: z.array(
    z.object({
      target: z.string(),
      status: z.enum(['sent', 'saved', 'queued', 'failed', 'skipped']),
      chat: z.string().optional(),
      messageIds: z.array(z.string()).optional(),
      path: z.string().optional(),
      error: z.string().optional(),
    }),
  ),
})

const uploadId = z.string().regex(/^[A-Za-z0-9_-]{16,64}$/, '16 to 64 of A-Z a-z 0-9 _ -')
export const uploadBody = z.object({
  id: uploadId.describe('Chosen by the client.'),
  bytes: z.int().min(1).describe('The size of the file.'),
  name: z.string().default('').describe('The name of the file.'),
  type: z.string().default('').describe('Its MIME type.'),
})
export const pieceQuery = z.object({
  from: z
    .string()
    .regex(/^\d{1,16}$/, 'the place of the piece in the file')
    .transform(Number)
    .describe('The place of the piece in the file, in bytes.'),
})
export const uploadLimits = z.object({ max_bytes: z.int(), max_files: z.int(), piece_bytes: z.int() })
export const uploadResponse = z.looseObject({ id: z.string(), bytes: z.int(), received: z.int() })

export const errorShape = z.object({
  error: z.object({
    code: z.string().nullable().describe('Stable; docs/reference/errors.md lists them.'),
    former_code: z.string().optional(),
    message: z.string(),
    hint: z.string().optional(),
    type: z.string(),
    param: z.string().nullable(),
  }),
})
