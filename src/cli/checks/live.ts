/**
 * One look at each platform itself: every account that is on is shown to its own adapter, all side by side.
 */
import { z } from 'zod'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { within } from '../../lib/wait.ts'
import { type PlatformAccount, platformAccounts } from '../../platforms/accounts.ts'
import { loadPlatform } from '../../platforms/registry.ts'
import { type Check, type Finding, note, ok, problem } from './finding.ts'

/** For the import of the adapter and its look together. */
const lookLimitMs = 10_000

/** Adapters of other people may answer anything. */
const diagnosesShape = z.array(
  z.object({ state: z.enum(['ok', 'note', 'problem']), text: z.string(), advice: z.string().optional() }),
)

export const checkLive: Check = ({ settings: { config, catalogue }, daemon }) => {
  const { platforms, gateway } = config.current()
  const accounts = platformAccounts(catalogue.platforms, { platforms, gateway, gaps: config.gaps() })
  return lookAtPlatforms(accounts, daemon?.url)
}

/** Accounts that are off or lack something are left alone. Never rejects. */
export async function lookAtPlatforms(
  accounts: readonly PlatformAccount[],
  gatewayUrl: string | undefined,
  limitMs = lookLimitMs,
): Promise<Finding[]> {
  const wanted = accounts.filter(({ blocked }) => blocked === undefined)
  return (await Promise.all(wanted.map((account) => findingsOf(account, gatewayUrl, limitMs)))).flat()
}

/** Never rejects. */
async function findingsOf(account: PlatformAccount, gatewayUrl: string | undefined, limitMs: number) {
  const name = nameOf(account)
  const over = new AbortController()
  try {
    const look = await within(lookAt(account, gatewayUrl, over.signal), limitMs)
    if (look.done) return look.value
    const advice = 'Check the network and the address of the platform, then run hermes doctor again.'
    return [problem('Platforms', `${name}: no answer within ${limitMs / 1_000} s`, advice)]
  } catch (error) {
    if (isHermesError(error)) return [problem('Platforms', `${name}: ${error.message}`, error.hint)]
    return [problem('Platforms', `${name} could not be looked at: ${messageOf(error)}`, adviceWithout(account))]
  } finally {
    over.abort()
  }
}

/** Empty where the platform has nothing to look at. May throw anything. */
async function lookAt(account: PlatformAccount, gatewayUrl: string | undefined, signal: AbortSignal) {
  const module = await loadPlatform(account.platform)
  if (module.diagnose === undefined) return []
  const address = gatewayUrl === undefined ? {} : { gatewayUrl }
  const found = await module.diagnose({ account: account.account, options: account.options, ...address }, signal)
  const diagnoses = diagnosesShape.safeParse(found)
  if (!diagnoses.success) {
    throw new HermesError('platform/invalid', `${account.platform.adapterFile}: diagnose gave no list of diagnoses.`)
  }
  return diagnoses.data.map(({ state, text, advice }): Finding => {
    const line = `${nameOf(account)}: ${text}`
    if (state === 'problem') return problem('Platforms', line, advice ?? adviceWithout(account))
    return state === 'ok' ? ok('Platforms', line) : note('Platforms', line, advice)
  })
}

function adviceWithout({ platform: { name } }: PlatformAccount): string {
  return `Check platforms.${name} in config.yaml and the network, then run hermes doctor again.`
}

function nameOf({ platform, account }: PlatformAccount): string {
  return account === 'default' ? platform.name : `${platform.name}/${account}`
}
