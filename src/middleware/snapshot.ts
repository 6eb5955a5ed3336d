/**
 * Snapshots of the registrations that apply to a stage, in order: by ascending priority, then global, plugins and scopes from
 * the outermost to the innermost. Later registrations do not change a snapshot.
 */
import type { Entries, Families, FamilyCallbacks, Registry, Subscriber } from './registry.ts'

type EntriesOf<Callbacks> = { readonly [Key in keyof Callbacks]: Entries<Callbacks[Key]> }

type EntryLists = { readonly [Family in keyof FamilyCallbacks]: EntriesOf<FamilyCallbacks[Family]> } & {
  readonly subscribers: Entries<Subscriber>
}

export interface Snapshot extends EntryLists {
  /** Whether a registration concerns tool calls. */
  readonly tools: boolean
  /** Whether a registration concerns model calls. */
  readonly models: boolean
}

const noEntries: readonly never[] = []

export const emptySnapshot: Snapshot = {
  guardrails: { tool: noEntries, model: noEntries },
  intercepts: {
    tool_request: noEntries,
    model_request: noEntries,
    tool_execution: noEntries,
    model_execution: noEntries,
    model_stream: noEntries,
  },
  sanitizers: {
    tool_request: noEntries,
    tool_response: noEntries,
    model_request: noEntries,
    model_response: noEntries,
    mark: noEntries,
    scope_start: noEntries,
    scope_end: noEntries,
  },
  hermes: { llm_request: noEntries, tool_request: noEntries, llm_execution: noEntries, tool_execution: noEntries },
  subscribers: noEntries,
  tools: false,
  models: false,
}

/** Adds the registrations of inner levels, outermost first, to a snapshot. */
export function mergeRegistrations(outer: Snapshot, registrationScopes: readonly Families[]): Snapshot {
  const merged = <Callback>(
    before: Entries<Callback>,
    registryOf: (families: Families) => Registry<Callback>,
  ): Entries<Callback> => {
    const inner = registrationScopes.flatMap((families) => registryOf(families).entries)
    // The sort is stable: equal priorities stay in the order of levels.
    return inner.length === 0 ? before : [...before, ...inner].sort((a, b) => a.priority - b.priority)
  }
  const { guardrails, intercepts, sanitizers, hermes } = outer
  const lists = {
    guardrails: {
      tool: merged(guardrails.tool, (from) => from.guardrails.tool),
      model: merged(guardrails.model, (from) => from.guardrails.model),
    },
    intercepts: {
      tool_request: merged(intercepts.tool_request, (from) => from.intercepts.tool_request),
      model_request: merged(intercepts.model_request, (from) => from.intercepts.model_request),
      tool_execution: merged(intercepts.tool_execution, (from) => from.intercepts.tool_execution),
      model_execution: merged(intercepts.model_execution, (from) => from.intercepts.model_execution),
      model_stream: merged(intercepts.model_stream, (from) => from.intercepts.model_stream),
    },
    sanitizers: {
      tool_request: merged(sanitizers.tool_request, (from) => from.sanitizers.tool_request),
      tool_response: merged(sanitizers.tool_response, (from) => from.sanitizers.tool_response),
      model_request: merged(sanitizers.model_request, (from) => from.sanitizers.model_request),
      model_response: merged(sanitizers.model_response, (from) => from.sanitizers.model_response),
      mark: merged(sanitizers.mark, (from) => from.sanitizers.mark),
      scope_start: merged(sanitizers.scope_start, (from) => from.sanitizers.scope_start),
      scope_end: merged(sanitizers.scope_end, (from) => from.sanitizers.scope_end),
    },
    hermes: {
      llm_request: merged(hermes.llm_request, (from) => from.hermes.llm_request),
      tool_request: merged(hermes.tool_request, (from) => from.hermes.tool_request),
      llm_execution: merged(hermes.llm_execution, (from) => from.hermes.llm_execution),
      tool_execution: merged(hermes.tool_execution, (from) => from.hermes.tool_execution),
    },
    subscribers: merged(outer.subscribers, (from) => from.subscribers),
  }
  return { ...lists, tools: hasToolCallbacks(lists), models: hasModelCallbacks(lists) }
}

function hasToolCallbacks({ guardrails, intercepts, hermes, subscribers }: EntryLists): boolean {
  return [
    guardrails.tool,
    intercepts.tool_request,
    intercepts.tool_execution,
    hermes.tool_request,
    hermes.tool_execution,
    subscribers,
  ].some((entries) => entries.length > 0)
}

function hasModelCallbacks({ guardrails, intercepts, hermes, subscribers }: EntryLists): boolean {
  return [
    guardrails.model,
    intercepts.model_request,
    intercepts.model_execution,
    intercepts.model_stream,
    hermes.llm_request,
    hermes.llm_execution,
    subscribers,
  ].some((entries) => entries.length > 0)
}
