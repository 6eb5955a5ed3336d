/**
 * `/api/sessions/{session_id}/usage`: how much of its window a conversation fills, and what it has cost.
 */
import type { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { findListedSession } from '../../sessions/session-list.ts'
import { readSessionSettings } from '../../sessions/session-state.ts'
import { usageOfSession } from '../../sessions/session-usage.ts'
import type { ApiServices } from '../services.ts'
import type { usageResponse } from '../shapes/sessions.ts'

/** Rejects `sessions/not-found`. */
export async function showUsage(
  { store, agent: { models }, settings }: ApiServices,
  id: string,
): Promise<z.output<typeof usageResponse>> {
  const { usage, source, choices } = await store.run(function* () {
    const session = yield* findListedSession(id)
    const usage = yield* usageOfSession(id)
    const choices = session === undefined ? {} : yield* readSessionSettings(session.session_key)
    return { usage, choices, source: session?.source }
  })
  if (usage === undefined) throw new HermesError('sessions/not-found', `(session ${JSON.stringify(id)})`)
  const chosen =
    source === undefined ? undefined : (await models.conversationModel({ source, settings: choices })).chosen
  const { model, provider } = chosen === undefined ? models.describe() : { ...chosen, provider: chosen.provider.name }
  return {
    session_id: id,
    model,
    provider,
    context_tokens: usage.contextTokens ?? null,
    context_length: chosen?.contextLength ?? settings().context_length,
    cached_tokens: usage.cachedTokens,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cost: usage.spent.cost,
    unpriced_tokens: usage.spent.unpricedTokens,
  }
}
