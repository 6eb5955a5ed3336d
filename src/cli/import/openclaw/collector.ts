/**
 * Collects what is found in the configuration of OpenClaw, and what is not taken.
 */
import { asString, isRecord, type JsonObject } from '../../../lib/json.ts'
import type { FoundSetting, FoundVariable, ImportArea, ImportEntry } from '../contract.ts'
import { isMachineVariable } from '../machine-variables.ts'

export interface Collector {
  readonly settings: (FoundSetting | FoundVariable)[]
  readonly entries: ImportEntry[]
  /** A value for config.yaml. @param key where it was */
  set(path: FoundSetting['path'], value: unknown, key: string): void
  variable(name: string, value: string, key: string): void
  leave(key: string, reason: string, area?: ImportArea): void
  /** Keys of a section that nothing was made of. */
  leaveRest(section: unknown, prefix: string, handled: readonly string[]): void
  /**
   * A secret, which OpenClaw has in the text, in a variable (`${NAME}`, `{source: 'env', id}`) or elsewhere. It goes to `.env`, or
   * stays in its variable. Returns the reference to it; undefined when there is none.
   */
  secret(value: unknown, variable: string, key: string): string | undefined
}

const reference = /^\$\{\w+\}$/

export function createCollector(): Collector {
  const settings: (FoundSetting | FoundVariable)[] = []
  const entries: ImportEntry[] = []
  const has = (path: readonly string[]) =>
    settings.some((setting) => setting.kind === 'config' && setting.path.join('.') === path.join('.'))

  const collector: Collector = {
    settings,
    entries,
    set(path, value, key) {
      if (has(path)) return
      settings.push({ kind: 'config', path, value, change: `was ${key}` })
    },
    variable(name, value, key) {
      if (isMachineVariable(name) || name.startsWith('HERMES_'))
        return collector.leave(name, 'belongs to the other program', 'variables')
      if (settings.some((setting) => setting.kind === 'variable' && setting.name === name)) return
      settings.push({ kind: 'variable', name, value, change: key === name ? '' : `was ${key}` })
    },
    leave(key, reason, area = 'settings') {
      entries.push({ area, name: key, result: 'left', reason })
    },
    leaveRest(section, prefix, handled) {
      if (!isRecord(section)) return
      for (const [key, value] of Object.entries(section)) {
        if (handled.includes(key) || value === undefined || value === null) continue
        collector.leave(prefix === '' ? key : `${prefix}.${key}`, 'this gateway has no such setting')
      }
    },
    secret(value, variable, key) {
      if (typeof value === 'string' && value.trim() !== '') {
        const text = value.trim()
        if (reference.test(text)) return text
        collector.variable(variable, text, key)
        return `\${${variable}}`
      }
      if (!isRecord(value)) return undefined
      const { source, id }: JsonObject = value
      if (source === 'env' && /^\w+$/.test(asString(id))) return `\${${asString(id)}}`
      collector.leave(
        key,
        `it is kept in another place (${asString(source).slice(0, 20) || 'unknown'}); add it to .env`,
      )
      return undefined
    },
  }
  return collector
}
