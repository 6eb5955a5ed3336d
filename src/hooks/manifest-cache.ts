/**
 * A cache of parsed manifests across restarts, because parsing YAML is the most expensive part of discovering hooks. An
 * entry is valid only for the same text and the same version of the parser.
 */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fingerprintsOf } from '../lib/file-memo.ts'
import { ensureDirectory, readTextIfExists, writeFileAtomic } from '../lib/files.ts'
import { isRecord } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import { type HookManifest, parseHookManifest } from './manifest.ts'

export interface ManifestReader {
  /** Like `parseHookManifest`. */
  readonly read: typeof parseHookManifest
  /** Writes the manifests that were read since the last call, if they differ from the cache. Never throws. */
  save(): void
}

interface CachedManifest {
  readonly folder: string
  readonly text: string
  readonly manifest: HookManifest
}

/** A change of these files invalidates the cache. A package has its manifest alone. */
const parserSources = ['./manifest.ts', './manifest-cache.ts', '../../package.json'].map((file) =>
  fileURLToPath(new URL(file, import.meta.url)),
)

/** @param file must be in a directory that only its owner can write; need not exist */
export function createManifestReader(file: string, log: Logger): ManifestReader {
  const readBy = [...fingerprintsOf(parserSources).values()].join(' ')
  let cached = new Map(loadCache(file, readBy, log).map((entry) => [cacheKeyOf(entry), entry]))
  let current = new Map<string, CachedManifest>()
  let isDirty = false

  return {
    read(text, path, rules) {
      const key = cacheKeyOf({ folder: rules.folder, text })
      const cachedEntry = cached.get(key) ?? current.get(key)
      if (cachedEntry?.manifest.events.every((event) => rules.eventIssue(event) === undefined)) {
        current.set(key, cachedEntry)
        return { ok: true, manifest: cachedEntry.manifest, warnings: [] }
      }
      const check = parseHookManifest(text, path, rules)
      // Manifests with warnings are not cached, because the warnings contain the path of the file.
      if (check.ok && check.warnings.length === 0) {
        current.set(key, { folder: rules.folder, text, manifest: check.manifest })
        isDirty = true
      }
      return check
    },
    save() {
      if (isDirty || current.size < cached.size) saveCache(file, { readBy, manifests: [...current.values()] }, log)
      cached = current
      current = new Map()
      isDirty = false
    },
  }
}

/** Includes the directory, because it is the default name of a hook. */
function cacheKeyOf({ folder, text }: Pick<CachedManifest, 'folder' | 'text'>): string {
  return `${folder}\n${text}`
}

function saveCache(file: string, contents: object, log: Logger): void {
  try {
    ensureDirectory(dirname(file))
    writeFileAtomic(file, JSON.stringify(contents))
  } catch (error) {
    log.warn(
      { event: 'hook.manifest_cache_not_saved', file, err: error },
      'the cache of manifests cannot be saved, so the next start parses them again',
    )
  }
}

function loadCache(file: string, readBy: string, log: Logger): CachedManifest[] {
  try {
    const contents: unknown = JSON.parse(readTextIfExists(file) ?? '{}')
    if (!isRecord(contents) || contents['readBy'] !== readBy || !Array.isArray(contents['manifests'])) return []
    return contents['manifests'].flatMap((entry: unknown) => {
      if (!isRecord(entry) || typeof entry['folder'] !== 'string' || typeof entry['text'] !== 'string') return []
      const manifest = parseCachedManifest(entry['manifest'])
      return manifest === undefined ? [] : [{ folder: entry['folder'], text: entry['text'], manifest }]
    })
  } catch (error) {
    log.debug({ event: 'hook.manifest_cache_unreadable', file, err: error }, 'manifests are parsed again')
    return []
  }
}

/** Without a schema, because building a schema at start takes as long as the cache saves. */
function parseCachedManifest(value: unknown): HookManifest | undefined {
  if (!isRecord(value)) return undefined
  const { name, description, events, enabled, priority, timeoutMs, env, requiresFile } = value
  if (typeof name !== 'string' || typeof description !== 'string' || !isStringArray(events)) return undefined
  if (typeof enabled !== 'boolean' || typeof priority !== 'number') return undefined
  return {
    name,
    description,
    events,
    enabled,
    priority,
    ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
    ...(isStringArray(env) ? { env } : {}),
    ...(typeof requiresFile === 'string' ? { requiresFile } : {}),
  }
}

function isStringArray(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}
