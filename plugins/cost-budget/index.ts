/**
 * Cost budget: records the costs of model calls and, when a budget is used up, warns, blocks calls or uses a cheaper model.
 * Each call reserves its estimated cost first, so that concurrent calls cannot spend the same money.
 */
import { asString, createLruCache, type Fields, messageOf, type PluginContext } from '#sdk'
import { type BudgetSubject, createBudgets, subjectOf } from './budgets.ts'
import { createLedger } from './ledger.ts'
import { formatBudgetReport, noticeForModel } from './messages.ts'
import { parseBudgetSettings } from './settings.ts'
import { meterStream } from './stream-meter.ts'

/** Innermost, so that responses that other plugins substitute are not counted. */
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
      log.error(
        { event: 'cost_budget.settings_rejected', err: error },
        `the previous settings stay in use: ${messageOf(error)}`,
      )
    }
    return settings
  }
  const reportUnsaved = (error: unknown) =>
    log.error({ event: 'cost_budget.save_failed', err: error }, `the ledger cannot be stored: ${messageOf(error)}`)
  const ledger = await createLedger(ctx.state, () => current().timeZone, reportUnsaved)
  const budgets = createBudgets(current, ledger, log)
  /** The payer by session id, because `pre_llm_call` contains only the session id. */
  const subjectBySession = createLruCache<BudgetSubject>(5_000)

  ctx.registerGuardrail('budget', 'model', ({ request, fields }) => {
    subjectBySession.set(asString(fields['session_id']), subjectOf(fields))
    return budgets.admit(request, fields)
  })
  ctx.registerMiddleware('llm_request', ({ request, ...fields }) => {
    const { cheapModel, cheapModelFields } = current()
    if (request['model'] === cheapModel || !budgets.shouldRouteDown(fields)) return null
    const fieldsWithNull = Object.entries({ ...request, ...cheapModelFields, model: cheapModel })
    const cheaper: Fields = Object.fromEntries(fieldsWithNull.filter(([, value]) => value !== null))
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
  ctx.registerHook('pre_llm_call', ({ platform, sender_id, session_id, turn_id }) => {
    const { user, chat } = subjectOf({ platform, sender_id })
    const known = subjectBySession.get(session_id)
    // In a group, the session has several people; in the background, the person is known from the first call.
    const payer = platform === 'background' ? (known?.user ?? user) : user
    const sentences = budgets.warnings({ user: payer, chat: known?.chat ?? chat, turn: turn_id })
    return sentences.length === 0 ? null : { context: noticeForModel(sentences) }
  })
  ctx.registerHook('on_session_end', ({ turn_id }) => ledger.turnEnded(turn_id))
  ctx.registerCommand({
    name: 'budget',
    description: 'Shows the budgets that apply to you and the amounts spent',
    run(_args, { platform, userId, sessionKey }) {
      const subject = { user: `${platform}:${userId}`, chat: sessionKey, turn: '(each)' }
      return formatBudgetReport(subject, budgets.spendingPerBudget(subject), current().currency, budgets.unpriced())
    },
  })
  ctx.onUnload(() => ledger.flush())
}
