/**
 * Names where the key of a vendor leaves this machine for another address than that of the vendor, and where it is not sent although one might
 * expect it. It sends no request.
 */

import { findProvider } from '../../agent/models/catalogue.ts'
import type { ModelConfig } from '../../agent/models/config.ts'
import { type ProviderSelection, resolveProvider } from '../../agent/models/resolve-provider.ts'
import { usesProviderKeys } from '../../flows/models/other-model.ts'
import { isLoopbackHost } from '../../lib/local-origin.ts'
import { type CheckResult, note } from './check-result.ts'

/** @param key the name of the key of the configured model; undefined when it has none */
export function checkKeyAddresses(
  main: ProviderSelection,
  key: string | undefined,
  fallbacks: ModelConfig['fallback_providers'],
): CheckResult[] {
  const finishing = fallbacks.flatMap((entry, index) => {
    const { provider, base_url: baseUrl, api_key, key_env } = entry
    if (baseUrl === undefined || !isVendor(provider) || api_key !== undefined || key_env !== undefined) return []
    if (usesProviderKeys(main, entry)) return []
    const text = `fallback_providers[${index}]: no key is sent to ${hostOf(baseUrl)}, because those of ${provider} are for another address.`
    return [note('Keys', text, 'If the server needs a key, name its variable with `key_env`.')]
  })
  return [...mainNote(main, key), ...finishing]
}

function mainNote(main: ProviderSelection, key: string | undefined): CheckResult[] {
  const choice = resolveProvider(main)
  if (isLoopbackHost(hostOf(main.baseUrl))) return []
  const isForwarded = main.baseUrl !== '' && main.apiKey === '' && choice?.isOfficial === false
  if (!isForwarded || key === undefined || !isVendor(choice.name) || isVendorHost(choice.name, main.baseUrl)) return []
  const text = `\`base_url\` sends ${key}, a key of ${choice.name}, to ${hostOf(main.baseUrl)}.`
  return [
    note(
      'Keys',
      text,
      'If the server is not your proxy for this vendor, give it a name and a key of its own under `providers`.',
    ),
  ]
}

/** `custom` and servers on this machine have no keys of a vendor. */
function isVendor(provider: string): boolean {
  const entry = findProvider(provider)?.entry
  return entry !== undefined && entry.isLocal !== true && entry.baseUrl !== ''
}

function isVendorHost(provider: string, baseUrl: string): boolean {
  const { baseUrl: defaultAddress = '', keyAddresses = {} } = findProvider(provider)?.entry ?? {}
  return [defaultAddress, ...Object.values(keyAddresses)].some((address) => hostOf(address) === hostOf(baseUrl))
}

function hostOf(address: string): string {
  return URL.parse(address)?.host ?? address
}
