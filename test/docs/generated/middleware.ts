/**
 * Generates the tables of middleware points and types from the contract.
 */
import { table } from './table.ts'
import { type Member, typeIn, typeReference } from './types.ts'

const source = 'src/middleware/contract.ts'

/** Each family with its registration function and its default failure mode. */
const families = [
  ['Guardrails', 'registerGuardrail(name, on, …)', 'closed'],
  ['Intercepts', 'registerIntercept(name, point, …)', 'closed'],
  ['Sanitizers', 'registerSanitizer(name, point, …)', 'the payload of the event is removed'],
  ['HermesMiddlewareKinds', 'registerMiddleware(kind, …)', 'open'],
] as const

export function middlewarePoints(): string {
  const rows = families.flatMap(([family, how, fails]) => {
    const { members } = typeIn(source, family)
    if (members.length === 0) throw new Error(`${source}: ${family} has no members`)
    return members.map((member) => [`\`${how}\``, `\`${member.name}\``, callbackOf(member), fails])
  })
  return table(['Registered with', 'Point', 'Callback', 'Fails'], rows)
}

function callbackOf({ signature }: Member): string {
  return `\`${signature.slice(signature.indexOf(':') + 1).trim()}\``
}

/** The parameters and results of callbacks. */
export function middlewareTypes(): string {
  return typeReference(source, [
    'MiddlewareRegistrar',
    'RegistrationOptions',
    'ExecutionOptions',
    'AnswerMode',
    'InterceptOptions',
    'FailureMode',
    'Registration',
    'CallView',
    'ToolCallView',
    'ModelCallView',
    'GuardrailDecision',
    'RewrittenRequest',
    'PendingMark',
    'Next',
    'HermesPayload',
    'LlmRequestPayload',
    'ToolRequestPayload',
    'RewriteResult',
    'RewriteTraceEntry',
    'LlmExecutionPayload',
    'ToolExecutionPayload',
    'Scope',
    'ScopeSpec',
    'ManagedEvent',
    'EventFields',
  ])
}
