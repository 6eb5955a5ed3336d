/**
 * Model router (seed 003): when the response of a small model sounds uncertain, the request is sent to a large model with
 * the first response in the conversation. Both calls are logged; only the second is marked as escalated.
 */
import { asString, createLruCache, type Fields, type HookPayload, messageOf, type PluginContext } from '#sdk'
import { uncertaintyReason } from './confidence.ts'
import { createCounters } from './counters.ts'
import { formatRouterReport } from './messages.ts'
import { parseResponse } from './response-formats.ts'
import { parseRouterSettings } from './settings.ts'

/** An escalation without a response yet. */
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
    log.warn({ event: 'model_router.save_failed', err: error }, `the counts cannot be stored: ${messageOf(error)}`),
  )
  /** By turn id, because the model calls of a turn run one after the other. */
  const openEscalations = createLruCache<Escalation>(1_000)

  function current() {
    if (parsedConfig === config.all) return settings
    parsedConfig = config.all
    try {
      settings = parseRouterSettings(parsedConfig)
    } catch (error) {
      log.error(
        { event: 'model_router.settings_rejected', err: error },
        `the previous settings stay in use: ${messageOf(error)}`,
      )
    }
    return settings
  }

  function onResponse({ request, response, route, ...rest }: ReissuePayload) {
    const { isSmall, largeModel, largeModelFields, maxShare, appliesTo, instruction, ...signs } = current()
    const model = asString(request['model'])
    if (largeModel === '' || model === largeModel || !isSmall(model) || !appliesTo(route)) return null
    const parsed = parseResponse(response)
    if (parsed === undefined) return null
    const reason = uncertaintyReason(parsed.text, signs)
    const { answers, escalated } = counters.today()
    const allowed = escalated + 1 <= Math.ceil(maxShare * (answers + 1))
    const { session_id, turn_id, iteration, provider, platform } = rest
    const logFields = { session_id, turn_id, iteration, provider, platform, route }
    const isOverQuota = reason !== undefined && !allowed
    counters.add({ answers: 1, held: isOverQuota ? 1 : 0, escalated: reason !== undefined && allowed ? 1 : 0 })
    log.info(
      {
        event: 'model_router.response_checked',
        ...logFields,
        model,
        escalated_to_large: false,
        ...(isOverQuota ? { held: true, reason } : {}),
      },
      isOverQuota ? 'response is uncertain, but the limit of the day is reached' : 'response of a small model checked',
    )
    if (reason === undefined || isOverQuota) return null
    openEscalations.set(turn_id, { largeModel, reason, about: logFields })
    const fields = Object.entries(largeModelFields).map(([name, value]) => [name, value ?? undefined])
    return {
      override: { ...parsed.followUp(request, instruction), ...Object.fromEntries(fields), model: largeModel },
    }
  }

  /** Receives the last response of an iteration: that of the large model, or the first one if the large model failed. */
  function onRequestEnd({ turn_id, request, usage, duration_ms }: HookPayload<'post_api_request'>) {
    const escalation = openEscalations.get(turn_id)
    if (escalation === undefined) return
    openEscalations.delete(turn_id)
    const { largeModel, reason, about } = escalation
    if (request['model'] === largeModel) {
      log.info(
        {
          event: 'model_router.escalated',
          ...about,
          model: largeModel,
          escalated_to_large: true,
          reason,
          usage,
          duration_ms,
        },
        'the large model responded',
      )
      return
    }
    counters.add({ failed: 1 })
    log.warn(
      { event: 'model_router.escalation_failed', ...about, model: largeModel, reason },
      'the large model did not respond; the first response is used',
    )
  }

  ctx.registerHook('post_llm_call_can_reissue', onResponse)
  ctx.registerHook('post_api_request', onRequestEnd)
  ctx.registerHook('on_session_end', ({ turn_id }) => openEscalations.delete(turn_id))
  ctx.registerCommand({
    name: 'router',
    description: 'Shows how often responses were escalated to the large model',
    run: () => formatRouterReport(current(), counters.days()),
  })
  ctx.onUnload(() => counters.flush())
}
