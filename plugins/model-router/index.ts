/**
 * Model router (seed 003): where the answer of a small model sounds unsure, a large one is asked once more, with the first
 * answer in its conversation. Both calls are recorded, only the second is marked as escalated.
 */
import { createRecent, type Fields, type HookPayload, messageOf, type PluginContext, str } from '#sdk'
import { doubtIn } from './doubt.ts'
import { readAnswer } from './formats.ts'
import { routerSettings } from './settings.ts'
import { createTally } from './tally.ts'
import { report } from './words.ts'

/** What was asked once more and has no answer yet. */
interface Escalation {
  readonly largeModel: string
  readonly reason: string
  readonly about: Fields
}

type Answered = HookPayload<'post_llm_call_can_reissue'>

export async function register(ctx: PluginContext): Promise<void> {
  const { log, config } = ctx
  let settings = routerSettings(config.all)
  let readFrom = config.all
  const tally = await createTally(ctx.state, Date.now, (error) =>
    log.warn({ error }, `the counts of the router could not be kept: ${messageOf(error)}`),
  )
  /** By turn: its model calls come one after the other. */
  const open = createRecent<Escalation>(1_000)

  function current() {
    if (readFrom === config.all) return settings
    readFrom = config.all
    try {
      settings = routerSettings(readFrom)
    } catch (error) {
      log.error({ error }, `the new settings are not used, the old ones stay: ${messageOf(error)}`)
    }
    return settings
  }

  function answered({ request, response, route, ...rest }: Answered) {
    const { isSmall, largeModel, largeModelFields, maxShare, worksOn, instruction, ...signs } = current()
    const model = str(request['model'])
    if (largeModel === '' || model === largeModel || !isSmall(model) || !worksOn(route)) return null
    const answer = readAnswer(response)
    if (answer === undefined) return null
    const reason = doubtIn(answer.text, signs)
    const { answers, escalated } = tally.today()
    const allowed = escalated + 1 <= Math.ceil(maxShare * (answers + 1))
    const { session_id, turn_id, iteration, provider, platform } = rest
    const about = { session_id, turn_id, iteration, provider, platform, route }
    const held = reason !== undefined && !allowed
    tally.count({ answers: 1, held: held ? 1 : 0, escalated: reason !== undefined && allowed ? 1 : 0 })
    log.info(
      { ...about, model, escalated_to_large: false, ...(held ? { held: true, reason } : {}) },
      held ? 'an answer sounds unsure, but the share of the day is used up' : 'an answer of a small model',
    )
    if (reason === undefined || held) return null
    open.set(turn_id, { largeModel, reason, about })
    const fields = Object.entries(largeModelFields).map(([name, value]) => [name, value ?? undefined])
    return {
      override: { ...answer.followUp(request, instruction), ...Object.fromEntries(fields), model: largeModel },
    }
  }

  /** Told of the last answer of an iteration: the large model's, or the first one where that failed. */
  function ended({ turn_id, request, usage, duration_ms }: HookPayload<'post_api_request'>) {
    const escalation = open.get(turn_id)
    if (escalation === undefined) return
    open.delete(turn_id)
    const { largeModel, reason, about } = escalation
    if (request['model'] === largeModel) {
      log.info(
        { ...about, model: largeModel, escalated_to_large: true, reason, usage, duration_ms },
        'the large model has answered',
      )
      return
    }
    tally.count({ failed: 1 })
    log.warn({ ...about, model: largeModel, reason }, 'the large model gave no answer; the first one stays')
  }

  ctx.registerHook('post_llm_call_can_reissue', answered)
  ctx.registerHook('post_api_request', ended)
  ctx.registerHook('on_session_end', ({ turn_id }) => open.delete(turn_id))
  ctx.registerCommand({
    name: 'router',
    description: 'How often the large model was asked once more',
    run: () => report(current(), tally.days()),
  })
  ctx.onUnload(() => tally.settled())
}
