/**
 * Converts events of managed calls into span names and attributes of OpenTelemetry's GenAI conventions.
 */
import { asArray, asNumber, asRecord, asString, extractUsage, type Fields, isRecord, type ManagedEvent } from '#sdk'
import { inputContentAttributes, outputContentAttributes, truncateToText } from './content.ts'
import type { ContentSettings } from './settings.ts'

export type Attributes = Record<string, string | number | boolean | string[]>

export function spanName({ category, name, category_profile: profile }: ManagedEvent): string {
  switch (category) {
    case 'llm':
      return `chat ${asString(profile?.['model_name'])}`.trimEnd()
    case 'tool':
      return `execute_tool ${name}`
    case 'agent':
      return name === 'turn' ? 'invoke_agent hermes' : name
    case 'guardrail':
      return `guardrail ${name}`
    default:
      return name
  }
}

export function startAttributes(event: ManagedEvent, content: ContentSettings): Attributes {
  const { category, name } = event
  return {
    ...contextAttributes(event.metadata ?? {}),
    ...(category === 'agent' && name === 'turn'
      ? { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'hermes' }
      : {}),
    ...(category === 'llm' ? modelRequestAttributes(event, content) : {}),
    ...(category === 'tool' ? toolRequestAttributes(event, content) : {}),
  }
}

export function endAttributes(event: ManagedEvent, content: ContentSettings): Attributes {
  const { category, category_profile: profile, data, metadata } = event
  const errorType = asString(metadata?.['error.type'])
  return {
    ...(errorType === '' ? {} : { 'error.type': errorType }),
    ...(category === 'llm' ? modelResponseAttributes(asRecord(data), profile ?? {}, content) : {}),
    ...(category === 'tool' && content.included && data !== null
      ? { 'gen_ai.tool.call.result': truncateToText(data, content.maxTextChars) }
      : {}),
  }
}

/** Session, turn and platform. */
function contextAttributes(metadata: Fields): Attributes {
  return pickPresent({
    'gen_ai.conversation.id': metadata['session_id'],
    'session.id': metadata['session_id'],
    'hermes.turn.id': metadata['turn_id'],
    'hermes.task.id': metadata['task_id'],
    'hermes.platform': metadata['platform'],
    'hermes.route': metadata['route'],
    'hermes.iteration': metadata['iteration'],
    'hermes.api_request.id': metadata['api_request_id'],
    'hermes.retry_count': metadata['retry_count'],
  })
}

function modelRequestAttributes(
  { name, category_profile: profile, data, metadata }: ManagedEvent,
  content: ContentSettings,
) {
  const request = asRecord(data)
  const address = URL.parse(asString(metadata?.['base_url']))
  const port = Number(address?.port) || (address?.protocol === 'http:' ? 80 : 443)
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': name === 'openai-responses' ? 'openai' : name,
    'gen_ai.request.stream': true,
    ...pickPresent({
      'gen_ai.request.model': profile?.['model_name'],
      'gen_ai.request.max_tokens':
        request['max_tokens'] ?? request['max_completion_tokens'] ?? request['max_output_tokens'],
      'gen_ai.request.temperature': request['temperature'],
      'gen_ai.request.top_p': request['top_p'],
    }),
    ...(address === null ? {} : { 'server.address': address.hostname, 'server.port': port }),
    ...(content.included && data !== null ? inputContentAttributes(request, content.maxTextChars) : {}),
  }
}

function modelResponseAttributes(response: Fields, profile: Fields, content: ContentSettings): Attributes {
  const usage = extractUsage(response)
  const reasons = finishReasons(response)
  return {
    ...pickPresent({
      'gen_ai.response.id': response['id'],
      'gen_ai.response.model': response['model'],
      'gen_ai.response.time_to_first_chunk': profile['time_to_first_chunk'],
    }),
    ...(reasons.length === 0 ? {} : { 'gen_ai.response.finish_reasons': reasons }),
    ...(usage === undefined
      ? {}
      : {
          'gen_ai.usage.input_tokens': usage.inputTokens,
          'gen_ai.usage.output_tokens': usage.outputTokens,
          'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
          'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
        }),
    ...(content.included ? outputContentAttributes(response, content.maxTextChars) : {}),
  }
}

/** With the names that the vendor uses. */
function finishReasons(response: Fields): string[] {
  const choices = asArray(response['choices']).filter(isRecord)
  const cut = asString(asRecord(response['incomplete_details'])['reason'])
  const output = Array.isArray(response['output'])
    ? cut || asString(response['status'])
    : asString(response['stop_reason'])
  return [...choices.map((choice) => asString(choice['finish_reason'])), output].filter((reason) => reason !== '')
}

function toolRequestAttributes(
  { name, category_profile: profile, data }: ManagedEvent,
  content: ContentSettings,
): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.type': 'function',
    ...pickPresent({ 'gen_ai.tool.call.id': profile?.['tool_call_id'] }),
    ...(content.included && data !== null
      ? { 'gen_ai.tool.call.arguments': truncateToText(data, content.maxTextChars) }
      : {}),
  }
}

/** Returns non-empty texts and numbers. */
function pickPresent(values: Fields): Attributes {
  const attributes: Attributes = {}
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' ? value !== '' : typeof value === 'number')
      attributes[name] = asString(value) || asNumber(value)
  }
  return attributes
}
