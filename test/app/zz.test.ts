import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gatewayShapes } from '../../src/app/config.ts'
import { keyAliases, unusedKeys } from '../../src/app/config-compatibility.ts'
import { applyKeyAliases } from '../../src/config/key-aliases.ts'
import { typeAt } from '../../src/config/overrides.ts'
import { withValue } from '../../src/config/tree.ts'
import { findUnusedKey } from '../../src/config/unknown-keys.ts'
import { silentLog } from '../../src/lib/log.ts'
import { discoverPlatforms } from '../../src/platforms/registry.ts'
const found = await discoverPlatforms({ directories: [fileURLToPath(new URL('../../platforms', import.meta.url))], log: silentLog })
const shapes = gatewayShapes(found.platforms)
function pathIn(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return []
  const [entry] = Object.entries(tree)
  return entry === undefined ? [] : [entry[0], ...pathIn(entry[1])]
}
const keys = readFileSync(new URL('hermes-example-keys.txt', import.meta.url), 'utf8').split('\n').filter(l=>l!==''&&!l.startsWith('#')).flatMap(l=>{const [p='',k='']=[l.slice(0,l.indexOf(':')),l.slice(l.indexOf(':')+1)]; return k.trim().split(' ').map(x=>p===''?x:`${p}.${x}`)})
const out: Record<string,string[]> = {}
for (const key of keys) {
  const aliased = applyKeyAliases(withValue({}, key.split('.'), 'x'), keyAliases(found.platforms))
  const path = pathIn(aliased.tree)
  const e = typeAt(shapes, path) !== undefined ? 'read' : (findUnusedKey(path, unusedKeys)?.kind ?? 'unknown')
  ;(out[e] ??= []).push(key)
}
console.log(keys.length); for (const e of ['unknown','planned','security','read']) console.log(e, out[e]?.length, e==='read'?'':out[e]?.join('\n  '))
