/**
 * Cost budget: counts what the model costs, and warns, refuses or takes a cheaper model when a budget is used up. A call
 * reserves what it may cost before it is made, so that many at once cannot spend the same money.
 */
import { asString, createLruCache, type Fields, messageOf, type PluginContext } from '#sdk'
import { createBudgets } from './budgets.ts'
import { createLedger } from './ledger.ts'
import { formatBudgetReport, noticeForModel } from './messages.ts'
import { parseBudgetSettings } from './settings.ts'
import { meterStream } from './stream-meter.ts'

/** Next to the vendor: what others put in the place of an answer costs nothing. */
const innermostPriority = 1_000

export async function register(ctx: PluginContext): Promise<void> {
  const { config, log } = ctx
  let settings = parseBudgetSettings(config.all)
  let parsedConfig = config.all
  const current = () => {
    if (parsedConfig === config.all) return settings
    parsedConfig = config.all
    try {
      settings = parseBudgetSettings(parsedConfig)
    } catch (error) {
      log.error({ error }, `the new settings are not used, the old ones stay: ${messageOf(error)}`)
    }
    return settings
  }
  const ledger = await createLedger({
    state: ctx.state,
    now: Date.now,
    timeZone: () => current().timeZone,
    onSaveError: (error) => log.error({ error }, `what was spent could not be kept: ${messageOf(error)}`),
  })
  const budgets = createBudgets(current, ledger, log)
  /** Keys of chats by session, for the one hook that names only the session. */
  const chatBySession = createLruCache<string>(5_000)

  ctx.registerGuardrail('budget', 'model', ({ request, fields }) => {
    chatBySession.set(asString(fields['session_id']), asString(fields['session_key']))
    return budgets.admit(request, fields)
  })
  ctx.registerMiddleware('llm_request', ({ request, ...fields }) => {
    const { cheapModel, cheapModelFields } = current()
    if (request['model'] === cheapModel || !budgets.shouldRouteDown(fields)) return null
    const other = Object.entries({ ...request, ...cheapModelFields, model: cheapModel })
    const cheaper: Fields = Object.fromEntries(other.filter(([, value]) => value !== null))
    return { request: cheaper, source: ctx.pluginId, reason: 'the budget is used up' }
  })
  ctx.registerIntercept(
    'meter',
    'model_stream',
    ({ request, fields }, next) => {
      const call = budgets.callOf(fields)
      return meterStream(
        next,
        budgets.estimateUsage(request),
        (usage) => budgets.recordUsage(call, asString(request['model']), usage),
        () => ledger.markStarted(call.id),
      )
    },
    { priority: innermostPriority },
  )
  ctx.registerHook('pre_llm_call', ({ platform, sender_id, session_id }) => {
    const user = sender_id === '' ? '' : `${platform}:${sender_id}`
    const sentences = budgets.warnings({ user, chat: chatBySession.get(session_id) ?? '' })
    return sentences.length === 0 ? null : { context: noticeForModel(sentences) }
  })
  ctx.registerHook('on_session_end', ({ turn_id }) => ledger.turnEnded(turn_id))
  ctx.registerCommand({
    name: 'budget',
    description: 'What is spent of the budgets that concern you',
    run(_args, { platform, userId, sessionKey }) {
      const who = { user: `${platform}:${userId}`, chat: sessionKey }
      return formatBudgetReport(who, budgets.spendingPerBudget(who), current().currency, budgets.unpriced())
    },
  })
  ctx.onUnload(() => ledger.flush())
}
