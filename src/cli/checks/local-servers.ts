/**
 * Finds model servers that run on this machine, and says how one of them is used where no model is configured.
 */
import { findLocalServers } from '../../agent/models/local-servers.ts'
import { resolveProvider, serversOf } from '../../agent/models/resolve-provider.ts'
import { selectionOf } from '../shared/known-keys.ts'
import { type Check, type CheckResult, note, ok } from './check-result.ts'

export const checkLocalServers: Check = async ({ settings, offline }) => {
  if (offline) return []
  const { config } = settings
  const servers = await findLocalServers({
    providers: serversOf(config.current()),
    variables: config.environment().values,
  })
  const isDemo = resolveProvider(selectionOf(settings, undefined))?.name === 'demo'
  return servers.map(({ name, label, baseUrl, models }): CheckResult => {
    const ids = models.slice(0, maxShown).map(({ id }) => id)
    const more = models.length > maxShown ? [`${models.length - maxShown} more`] : []
    const text = `${label} runs at ${baseUrl} with ${[...ids, ...more].join(', ') || 'no model'}`
    const [first] = ids
    return isDemo && first !== undefined
      ? note('Model servers', text, `Use it: hermes model set ${name}:${first}`)
      : ok('Model servers', text)
  })
}

const maxShown = 5
