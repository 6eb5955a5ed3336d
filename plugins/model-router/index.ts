/**
 * Model router (seed 003): where the answer of a small model sounds unsure, a large one is asked once more, with the first
 * answer in its conversation. Both calls are recorded, only the second is marked as escalated.
 */
import { asString, createLruCache, type Fields, type HookPayload, messageOf, type PluginContext } from '#sdk'
import { uncertaintyReason } from './confidence.ts'
import { createCounters } from './counters.ts'
import { formatRouterReport } from './messages.ts'
import { parseResponse } from './response-formats.ts'
import { parseRouterSettings } from './settings.ts'

/** What was asked once more and has no answer yet. */
interface Escalation {
  readonly largeModel: string
  readonly reason: string
  readonly about: Fields
}

type ReissuePayload = HookPayload<'post_llm_call_can_reissue'>

export async function register(ctx: PluginContext): Promise<void> {
  const { log, config } = ctx
  let settings = parseRouterSettings(config.all)
  let parsedConfig = config.all
  const counters = await createCounters(ctx.state, Date.now, (error) =>
    log.warn({ error }, `the counts of the router could not be kept: ${messageOf(error)}`),
  )
  /** By turn: its model calls come one after the other. */
  const openEscalations = createLruCache<Escalation>(1_000)

  function current() {
    if (parsedConfig === config.all) return settings
    parsedConfig = config.all
    try {
      settings = parseRouterSettings(parsedConfig)
    } catch (error) {
      log.error({ error }, `the new settings are not used, the old ones stay: ${messageOf(error)}`)
    }
    return settings
  }

  function onResponse({ request, response, route, ...rest }: ReissuePayload) {
    const { isSmall, largeModel, largeModelFields, maxShare, appliesTo, instruction, ...signs } = current()
    const model = asString(request['model'])
    if (largeModel === '' || model === largeModel || !isSmall(model) || !appliesTo(route)) return null
    const answer = parseResponse(response)
    if (answer === undefined) return null
    const reason = uncertaintyReason(answer.text, signs)
    const { answers, escalated } = counters.today()
    const allowed = escalated + 1 <= Math.ceil(maxShare * (answers + 1))
    const { session_id, turn_id, iteration, provider, platform } = rest
    const logFields = { session_id, turn_id, iteration, provider, platform, route }
    const isOverQuota = reason !== undefined && !allowed
    counters.add({ answers: 1, held: isOverQuota ? 1 : 0, escalated: reason !== undefined && allowed ? 1 : 0 })
    log.info(
      { ...logFields, model, escalated_to_large: false, ...(isOverQuota ? { held: true, reason } : {}) },
      isOverQuota ? 'an answer sounds unsure, but the share of the day is used up' : 'an answer of a small model',
    )
    if (reason === undefined || isOverQuota) return null
    openEscalations.set(turn_id, { largeModel, reason, about: logFields })
    const fields = Object.entries(largeModelFields).map(([name, value]) => [name, value ?? undefined])
    return {
      override: { ...answer.followUp(request, instruction), ...Object.fromEntries(fields), model: largeModel },
    }
  }

  /** Told of the last answer of an iteration: the large model's, or the first one where that failed. */
  function onRequestEnd({ turn_id, request, usage, duration_ms }: HookPayload<'post_api_request'>) {
    const escalation = openEscalations.get(turn_id)
    if (escalation === undefined) return
    openEscalations.delete(turn_id)
    const { largeModel, reason, about } = escalation
    if (request['model'] === largeModel) {
      log.info(
        { ...about, model: largeModel, escalated_to_large: true, reason, usage, duration_ms },
        'the large model has answered',
      )
      return
    }
    counters.add({ failed: 1 })
    log.warn({ ...about, model: largeModel, reason }, 'the large model gave no answer; the first one stays')
  }

  ctx.registerHook('post_llm_call_can_reissue', onResponse)
  ctx.registerHook('post_api_request', onRequestEnd)
  ctx.registerHook('on_session_end', ({ turn_id }) => openEscalations.delete(turn_id))
  ctx.registerCommand({
    name: 'router',
    description: 'How often the large model was asked once more',
    run: () => formatRouterReport(current(), counters.days()),
  })
  ctx.onUnload(() => counters.flush())
}
