/**
 * Finds homes of Hermes Agent and OpenClaw on this machine.
 */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { defaultProfile } from '../../lib/profiles.ts'
import type { CliContext } from '../kit/context.ts'

export const importKinds = ['hermes', 'openclaw'] as const
export type ImportKind = (typeof importKinds)[number]

export const openclawConfigNames: readonly string[] = ['openclaw.json', 'clawdbot.json', 'moltbot.json']

/** What only a home of this program has. `state.db` and config.yaml exist in a home of this gateway, too. */
const marks: Readonly<Record<ImportKind, readonly string[]>> = {
  hermes: ['config.yaml', '.env', 'state.db', 'auth.json', 'SOUL.md', 'memories', 'skills'],
  openclaw: [...openclawConfigNames, 'agents', 'workspace', 'credentials'],
}

type SearchContext = Pick<CliContext, 'environment' | 'profile' | 'home'>

/** Where a home of this kind usually is, for the selected profile. The first ones are preferred. */
export function usualPlaces(kind: ImportKind, { environment, profile }: SearchContext): readonly string[] {
  const user = environment['HOME'] || homedir()
  if (kind === 'hermes') {
    const root = join(user, '.hermes')
    return profile === defaultProfile ? [root] : [join(root, 'profiles', profile)]
  }
  const configured = environment['OPENCLAW_STATE_DIR'] ?? environment['CLAWDBOT_STATE_DIR'] ?? ''
  const places = ['.openclaw', '.clawdbot', '.moltbot'].map((name) => join(user, name))
  const candidates = profile === defaultProfile ? places : [join(user, `.openclaw-${profile}`)]
  return configured === '' ? candidates : [resolve(configured), ...candidates]
}

/** The first usual place that has such a home, and is not this home. */
export function findHome(kind: ImportKind, context: SearchContext): string | undefined {
  return usualPlaces(kind, context).find(
    (path) => isHome(kind, path) && relationOf(path, context.home.root) === 'apart',
  )
}

export function isHome(kind: ImportKind, path: string): boolean {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return isFolder && marks[kind].some((name) => existsSync(join(path, name)))
}

/** Where this home is, seen from another one. */
export function relationOf(other: string, home: string): 'same' | 'inside' | 'apart' {
  const [from, to] = [realPath(other), realPath(home)]
  if (from === to) return 'same'
  return to.startsWith(`${from}${sep}`) ? 'inside' : 'apart'
}

/** Resolves a path whose last parts may not exist yet. */
function realPath(path: string): string {
  const missing: string[] = []
  for (let current = resolve(path); ; ) {
    if (existsSync(current)) return join(realpathSync.native(current), ...missing)
    const parent = resolve(current, '..')
    if (parent === current) return resolve(path)
    missing.unshift(current.slice(parent === sep ? 1 : parent.length + 1))
    current = parent
  }
}
