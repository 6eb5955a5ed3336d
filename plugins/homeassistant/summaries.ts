/**
 * The responses of Home Assistant in a short form for the model. What has another shape is left out.
 */
import { asArray, asString, type Fields, isRecord } from '#sdk'

export interface EntityFilter {
  /** `light`, `sensor`. */
  readonly domain?: string | undefined
  /** A part of the name or of the area. */
  readonly area?: string | undefined
}

export function summarizeEntities(states: unknown, { domain, area = '' }: EntityFilter): Fields {
  const wanted = area.toLowerCase()
  const entities = asArray(states).flatMap((state) => {
    if (!isRecord(state)) return []
    const id = asString(state['entity_id'])
    const attributes = isRecord(state['attributes']) ? state['attributes'] : {}
    const name = asString(attributes['friendly_name'])
    if (domain !== undefined && !id.startsWith(`${domain}.`)) return []
    if (![name, asString(attributes['area'])].some((text) => text.toLowerCase().includes(wanted))) return []
    return [{ entity_id: id, state: asString(state['state']), friendly_name: name }]
  })
  return { count: entities.length, entities }
}

export function summarizeState(state: unknown): Fields {
  if (!isRecord(state)) return {}
  const { entity_id, state: value, attributes, last_changed, last_updated } = state
  return { entity_id, state: value, attributes, last_changed, last_updated }
}

export function summarizeServices(domains: unknown, only: string | undefined): Fields {
  const summaries = asArray(domains).flatMap((domainEntry) => {
    if (!isRecord(domainEntry)) return []
    const domain = asString(domainEntry['domain'])
    if (only !== undefined && domain !== only) return []
    const services = isRecord(domainEntry['services']) ? domainEntry['services'] : {}
    return [{ domain, services: Object.fromEntries(Object.entries(services).map(describeService)) }]
  })
  return { count: summaries.length, domains: summaries }
}

function describeService([name, service]: [string, unknown]): [string, Fields] {
  if (!isRecord(service)) return [name, {}]
  const description = asString(service['description'])
  const fields = Object.entries(isRecord(service['fields']) ? service['fields'] : {}).flatMap(([field, info]) =>
    isRecord(info) ? [[field, asString(info['description'])] as const] : [],
  )
  return [name, fields.length === 0 ? { description } : { description, fields: Object.fromEntries(fields) }]
}

/** With `?return_response` the states are a part of the response. */
export function summarizeCall(service: string, answer: unknown): Fields {
  const states = isRecord(answer) ? answer['changed_states'] : answer
  const response = isRecord(answer) ? answer['service_response'] : undefined
  const affected = asArray(states).flatMap((state) =>
    isRecord(state) ? [{ entity_id: asString(state['entity_id']), state: asString(state['state']) }] : [],
  )
  const isEmpty = response === undefined || (isRecord(response) && Object.keys(response).length === 0)
  return { success: true, service, affected_entities: affected, ...(isEmpty ? {} : { response }) }
}
