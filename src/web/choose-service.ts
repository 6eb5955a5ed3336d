/**
 * Chooses the services of the web tools: what the configuration names, or else the first one whose key is set.
 */
import { type SearchServiceName, searchServiceNames } from './service-names.ts'
import { type SearchService, searchServices } from './services.ts'

export interface WebSettings {
  readonly backend: SearchServiceName | ''
  readonly search_backend: SearchServiceName | ''
  readonly extract_backend: SearchServiceName | 'local' | ''
}

type Variables = Readonly<Record<string, string | undefined>>

/** A service with what its requests need. */
export interface ChosenService {
  readonly name: SearchServiceName
  readonly service: SearchService
  /** Without a slash at the end. */
  readonly address: string
  /** '' for none. */
  readonly key: string
}

/** `missing`: the variable that a configured service needs. */
export type ServiceChoice = ChosenService | { readonly missing: string }

/** The service of `web_search`; undefined when none is configured and no key is set. */
export function chooseSearchService(settings: WebSettings, variables: Variables): ServiceChoice | undefined {
  const named = settings.search_backend || settings.backend
  if (named !== '') return openService(named, variables)
  return searchServiceNames.map((name) => openService(name, variables)).find((choice) => !('missing' in choice))
}

/** The service of `web_extract`; undefined when the gateway reads pages itself. */
export function chooseExtractService(settings: WebSettings, variables: Variables): ServiceChoice | undefined {
  const named = settings.extract_backend || settings.backend
  if (named === '' || named === 'local') return undefined
  // A service that only searches was named for searching.
  return searchServices[named].extract === undefined ? undefined : openService(named, variables)
}

function openService(name: SearchServiceName, variables: Variables): ServiceChoice {
  const service = searchServices[name]
  const { keyVariable, addressVariable } = service
  const key = variable(variables, keyVariable)
  const ownAddress = variable(variables, addressVariable)
  const address = (ownAddress || service.address).replace(/\/+$/, '')
  if (keyVariable !== undefined && key === '' && !(service.isKeyOptional === true && ownAddress !== ''))
    return { missing: keyVariable }
  if (address === '') return { missing: addressVariable ?? '' }
  return { name, service, address, key }
}

function variable(variables: Variables, name: string | undefined): string {
  return name === undefined ? '' : (variables[name]?.trim() ?? '')
}
