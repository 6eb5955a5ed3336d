/**
 * Payloads as no platform should send them: real ones with fields dropped, swapped, doubled, of another type, huge, deep or
 * with names that mean something to JavaScript. The same seed gives the same payloads.
 */
import fc from 'fast-check'

export interface MutatedPayload {
  readonly payload: unknown
  /** Which of the given payloads it was made of. */
  readonly sourceIndex: number
  /** What was done to it, for the message of a failure. */
  readonly mutations: readonly string[]
}

interface Step {
  readonly deed: number
  readonly place: number
  readonly value: number
}

/** Made one at a time, so that huge ones do not add up. */
export function* mutatedPayloads(
  payloads: readonly unknown[],
  seed: number,
  count: number,
): Generator<MutatedPayload, void> {
  const texts = payloads.map((payload) => JSON.stringify(payload))
  const number = fc.nat({ max: 0x7fff_ffff })
  const step = fc.record<Step>({ deed: number, place: number, value: number })
  const plan = fc.record({ of: number, steps: fc.array(step, { minLength: 1, maxLength: 4 }) })
  for (const { of, steps } of fc.sample(plan, { seed, numRuns: count })) {
    const at = of % texts.length
    const box: JsonContainer = { payload: JSON.parse(texts[at] ?? 'null') }
    yield { mutations: steps.map((one) => applyStep(box, one)), sourceIndex: at, payload: box['payload'] }
  }
}

type JsonContainer = Record<string, unknown>

/** Where a value stands: `holder[key]`. */
interface JsonLocation {
  readonly holder: JsonContainer | unknown[]
  readonly key: string | number
  readonly path: string
}

function applyStep(box: JsonContainer, { deed, place, value }: Step): string {
  const places = locationsIn(box, 'payload')
  const chosen = places[place % places.length]
  const other = places[value % places.length]
  const act = allMutations[deed % allMutations.length]
  if (chosen === undefined || other === undefined || act === undefined) return 'nothing'
  return `${act(chosen, value, other)} at ${chosen.path}`
}

/** Every value of the tree, the root first; not deeper than a platform nests. */
function locationsIn(holder: JsonContainer | unknown[], path: string, depth = 0): JsonLocation[] {
  if (depth > 40) return []
  const keys = Array.isArray(holder) ? holder.slice(0, 50).map((_, index) => index) : Object.keys(holder)
  return keys.flatMap((key) => {
    const own = { holder, key, path: depth === 0 ? path : `${path}.${key}` }
    const value = get(own)
    return [own, ...(isTree(value) ? locationsIn(value, own.path, depth + 1) : [])]
  })
}

type Mutation = (place: JsonLocation, choice: number, other: JsonLocation) => string

/** What is likely to hurt stands more than once. */
const allMutations: readonly Mutation[] = [
  drop,
  drop,
  replace,
  replace,
  replace,
  swap,
  copy,
  double,
  wrap,
  retype,
  addNames,
]

function drop({ holder, key }: JsonLocation): string {
  if (Array.isArray(holder)) holder.splice(Number(key), 1)
  else delete holder[key]
  return 'dropped'
}

function replace(place: JsonLocation, choice: number): string {
  const [name, make] = strangeValues[choice % strangeValues.length] ?? (['null', () => null] as const)
  put(place, make())
  return name
}

function swap(place: JsonLocation, _choice: number, other: JsonLocation): string {
  const [one, two] = [get(place), get(other)]
  // A tree must not come to stand inside itself.
  if (isTree(one) || isTree(two)) return copy(place, 0, other)
  put(place, two)
  put(other, one)
  return `swapped with ${other.path}`
}

function copy(place: JsonLocation, _choice: number, other: JsonLocation): string {
  put(place, cloned(get(other)))
  return `a copy of ${other.path}`
}

function double({ holder, key }: JsonLocation, choice: number): string {
  const times = choice % 50 === 0 ? 2_000 : 1
  const copies = Array.from({ length: times }, () => cloned(get({ holder, key, path: '' })))
  if (Array.isArray(holder)) holder.splice(Number(key), 0, ...copies)
  else set(holder, `${key}_again`, copies)
  return `doubled ${times} times`
}

/** Several steps together may nest deeper than Node can copy. */
function cloned(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch (error) {
    if (error instanceof RangeError) return 'too deep to be copied'
    throw error
  }
}

function wrap(place: JsonLocation, choice: number): string {
  put(place, choice % 2 === 0 ? [get(place)] : { value: get(place) })
  return 'wrapped'
}

/** The same value as another type: ids that are numbers become texts and the other way round. */
function retype(place: JsonLocation): string {
  const value = get(place)
  if (typeof value === 'string') put(place, Number.isNaN(Number(value)) ? value.length : Number(value))
  else if (isTree(value)) put(place, Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : [value])
  else put(place, String(value))
  return 'another type'
}

function addNames(place: JsonLocation, choice: number): string {
  const value = get(place)
  const tree = isTree(value) && !Array.isArray(value) ? value : {}
  const name = prototypeNames[choice % prototypeNames.length] ?? '__proto__'
  set(tree, name, choice % 2 === 0 ? { isAdmin: true, id: 1, text: 'inherited', type: 'private' } : 'text')
  put(place, tree)
  return `the name ${name}`
}

const prototypeNames = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', 'then']

/** The values have the types that `JSON.parse` would give them. */
const strangeValues: readonly (readonly [string, () => unknown])[] = [
  ['null', () => null],
  ['true', () => true],
  ['false', () => false],
  ['zero', () => 0],
  ['minus one', () => -1],
  ['a fraction', () => 0.1],
  ['a number beyond whole ones', () => 2 ** 60],
  ['a huge number', () => 1e308],
  ['infinity', () => Number.POSITIVE_INFINITY],
  ['an empty text', () => ''],
  ['a blank text', () => ' \t\n\u2003'],
  ['an empty list', () => []],
  ['an empty object', () => ({})],
  ['a list of null', () => [null]],
  ['a text of 200,000 letters', () => 'a'.repeat(200_000)],
  ['200,000 blanks', () => ' '.repeat(200_000)],
  ['many marks', () => '<@!#&*_`~>[](){}'.repeat(5_000)],
  ['many slashes', () => `/${'/@'.repeat(50_000)}`],
  ['many line ends', () => '\r\n'.repeat(50_000)],
  ['half a character', () => 'a\ud83db\udc00'],
  ['a text from right to left', () => '\u202e\u2066שלום\u2069\u0000\ufeff'],
  ['many marks on one letter', () => `z${'\u0335\u0489'.repeat(5_000)}`],
  ['a family', () => '👨‍👩‍👧‍👦'.repeat(500)],
  ['a path', () => '../../../../etc/passwd'],
  ['an address', () => 'http://169.254.169.254/latest/meta-data/'],
  ['a name of JavaScript', () => '__proto__'],
  ['1,000 lists in each other', () => nested(1_000, (inner) => [inner])],
  ['1,000 objects in each other', () => nested(1_000, (inner) => ({ text: 'x', elements: [inner] }))],
  ['10,000 small objects', () => Array.from({ length: 10_000 }, () => ({ type: 'text', text: 'x', offset: 0 }))],
]

function nested(depth: number, around: (inner: unknown) => unknown): unknown {
  let value: unknown = 'deep'
  for (let level = 0; level < depth; level += 1) value = around(value)
  return value
}

function isTree(value: unknown): value is JsonContainer | unknown[] {
  return typeof value === 'object' && value !== null
}

function get({ holder, key }: JsonLocation): unknown {
  return Array.isArray(holder) ? holder[Number(key)] : holder[key]
}

function put({ holder, key }: JsonLocation, value: unknown): void {
  if (Array.isArray(holder)) holder[Number(key)] = value
  else set(holder, String(key), value)
}

/** An own property whatever its name: `tree['__proto__'] = …` would change the prototype instead. */
function set(tree: JsonContainer | unknown[], name: string, value: unknown): void {
  Object.defineProperty(tree, name, { value, enumerable: true, configurable: true, writable: true })
}
