/**
 * Budgets and prices, read from the settings.
 */
import { asArray, asNumber, asRecord, asString, type Fields, isRecord } from '#sdk'
import { type PriceTable, parsePriceTable } from './prices.ts'

export interface Budget {
  readonly per: 'user' | 'chat' | 'global'
  readonly period: 'day' | 'month'
  readonly unit: 'money' | 'tokens'
  readonly limit: number
  readonly action: 'warn' | 'block' | 'route_down'
  /** Whom it is for; everybody if empty. Users are `<platform>:<id>`, chats are the keys of their sessions. */
  readonly only: ReadonlySet<string>
  readonly except: ReadonlySet<string>
}

export interface BudgetSettings {
  readonly budgets: readonly Budget[]
  readonly prices: PriceTable
  readonly currency: string
  readonly timeZone: string
  /** Between 0 and 1. */
  readonly warnAt: number
  readonly cheapModel: string
  readonly cheapModelFields: Fields
  readonly expectedOutputTokens: number
}

/** Throws an `Error` that names the setting which cannot be used. */
export function parseBudgetSettings(given: Fields): BudgetSettings {
  const budgets = asArray(given['budgets']).map(parseBudget)
  const cheapModel = asString(given['cheap_model'])
  if (cheapModel === '' && budgets.some(({ action }) => action === 'route_down'))
    throw new Error('settings.cheap_model is needed by a budget with action: route_down')
  const warnAt = asNumber(given['warn_at'])
  if (warnAt <= 0 || warnAt > 1) throw new Error('settings.warn_at: expected a number above 0, at most 1')
  return {
    budgets,
    prices: parsePriceTable(asRecord(given['prices'])),
    currency: asString(given['currency']),
    timeZone: parseTimeZone(asString(given['timezone'])),
    warnAt,
    cheapModel,
    cheapModelFields: asRecord(given['cheap_model_fields']),
    expectedOutputTokens: asNumber(given['expected_output_tokens']),
  }
}

const periods = ['day', 'month'] as const
const subjects = ['user', 'chat', 'global'] as const
const actions = ['warn', 'block', 'route_down'] as const

function parseBudget(given: unknown, position: number): Budget {
  const where = `settings.budgets, number ${position + 1}`
  if (!isRecord(given)) throw new Error(`${where}: expected {per, period, amount or tokens, action}`)
  const { amount, tokens } = given
  const limit = amount ?? tokens
  if (typeof limit !== 'number' || !(limit > 0) || (amount !== undefined && tokens !== undefined))
    throw new Error(`${where}: expected either amount or tokens, a number above 0`)
  return {
    per: parseEnum(subjects, given['per'], `${where}: per`),
    period: parseEnum(periods, given['period'], `${where}: period`),
    unit: amount === undefined ? 'tokens' : 'money',
    limit,
    action: parseEnum(actions, given['action'], `${where}: action`),
    only: new Set(asArray(given['for']).map(String)),
    except: new Set(asArray(given['except']).map(String)),
  }
}

function parseEnum<Word extends string>(words: readonly Word[], given: unknown, where: string): Word {
  const word = words.find((one) => one === given)
  if (word === undefined) throw new Error(`${where}: expected ${words.join(', ')}`)
  return word
}

function parseTimeZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
  } catch {
    throw new Error(`settings.timezone: there is no time zone "${timeZone}"; expected one such as Europe/Berlin`)
  }
}
