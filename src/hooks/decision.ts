/**
 * From what hooks returned to what becomes of a command (contract §1.5).
 */
export type CommandDecision =
  | { readonly kind: 'allow' }
  /** `message` is '' where the hook gave no reason. */
  | { readonly kind: 'deny'; readonly message: string }
  | { readonly kind: 'handled'; readonly message: string }
  /** `args` undefined: as they were typed. */
  | { readonly kind: 'rewrite'; readonly command: string; readonly args: string | undefined }

/**
 * The first answer that decides anything counts; to allow decides nothing. Whatever is no decision is passed over.
 * @param results in the order of the hooks
 */
export function firstDecision(results: readonly unknown[]): CommandDecision {
  for (const result of results) {
    if (typeof result !== 'object' || result === null) continue
    const decision = parseDecision(new Map(Object.entries(result)))
    if (decision !== undefined) return decision
  }
  return { kind: 'allow' }
}

function parseDecision(fields: ReadonlyMap<string, unknown>): CommandDecision | undefined {
  const decision = stringOrEmpty(fields.get('decision')).trim().toLowerCase()
  const message = stringOrEmpty(fields.get('message'))
  if (decision === 'deny' || decision === 'handled') return { kind: decision, message }
  if (decision !== 'rewrite') return undefined
  const command = stringOrEmpty(fields.get('command_name')).trim().replace(/^\/+/, '').trim()
  if (command === '') return undefined
  const args = fields.get('raw_args')
  return { kind: 'rewrite', command, args: typeof args === 'string' ? args.trim() : undefined }
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
