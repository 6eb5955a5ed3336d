/**
 * What a new conversation would be given, for `hermes prompt show`. Nothing is stored.
 */
import { estimateTextTokens } from '../../agent/compression/context-size.ts'
import type { EphemeralPrompt } from '../../agent/models/ephemeral-prompt.ts'
import { HermesError } from '../../lib/errors.ts'
import { brand, uuid7 } from '../../lib/ids.ts'
import type { SessionId, SessionKey } from '../../message/ids.ts'
import { createPromptReader, type PromptTurn, type SessionPromptDeps } from './session-prompt.ts'

export interface PromptSize {
  /** UTF-8 */
  readonly bytes: number
  /** An estimate. */
  readonly tokens: number
}

export interface PromptPreview {
  readonly platform: string
  /** In the order of the prompt. */
  readonly layers: readonly (PromptSize & { readonly name: string; readonly text: string })[]
  readonly prompt: PromptSize
  /** What each request has in addition; it is stored nowhere. `tokens` 0: nothing. */
  readonly ephemeral: PromptSize & { readonly text: string; readonly messages: number }
  /** The schemas that each request has beside the prompt. */
  readonly tools: readonly (PromptSize & { readonly name: string })[]
}

/** A direct message of an owner. Rejects `http/not-found` for a platform that does not exist. */
export async function previewPrompt(
  deps: SessionPromptDeps,
  platform: string,
  added: EphemeralPrompt | undefined,
): Promise<PromptPreview> {
  if (deps.accountDirectory.platform(platform) === undefined)
    throw new HermesError('http/not-found', `There is no platform ${JSON.stringify(platform)}.`)
  const now = deps.clock()
  const turn: PromptTurn = {
    // A session keeps its tools: each preview is another one.
    sessionId: brand<SessionId>(uuid7(now)),
    sessionKey: brand<SessionKey>(''),
    authority: { role: 'owner', platform, chatType: 'dm' },
    event: {
      source: { platform, account: 'default', chatId: '', chatType: 'dm' },
      text: '',
      messageType: 'text',
      timestamp: now,
    },
    settings: {},
  }
  const layers = await createPromptReader(deps)(turn)
  const schemas = (await deps.agentServices.tools.forTurn(turn)).schemas()
  return {
    platform,
    layers: layers.map(({ name, text }) => ({ name, text, ...sizeOf(text) })),
    prompt: sizeOf(layers.map(({ text }) => text).join('\n\n')),
    ephemeral: describeEphemeral(added),
    tools: schemas.map((schema) => ({ name: schema.name, ...sizeOf(JSON.stringify(schema)) })),
  }
}

function describeEphemeral(added: EphemeralPrompt | undefined): PromptPreview['ephemeral'] {
  const { system, prefill }: EphemeralPrompt = added ?? { system: '', prefill: [] }
  const lines = prefill.map(({ role, content }) => `[${role}] ${content}`)
  const text = [system, ...lines].filter((part) => part !== '').join('\n\n')
  return { text, messages: prefill.length, ...sizeOf(text) }
}

function sizeOf(text: string): PromptSize {
  return { bytes: Buffer.byteLength(text), tokens: Math.ceil(estimateTextTokens(text)) }
}
