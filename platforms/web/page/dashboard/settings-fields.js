/**
 * The settings as fields of a form: what the JSON Schema says, with the values in use. Pure functions.
 */

/** @typedef {{ path: string[], value: unknown, is_secret: boolean, source: 'default' | 'file' | 'variable', origin: string, needs_restart: boolean }} SettingValue */
/** @typedef {Record<string, any>} Schema */

/**
 * @typedef {object} Setting
 * @property {readonly string[]} path
 * @property {string} name the path with dots
 * @property {string} group the section in which it stands
 * @property {string} description
 * @property {'switch' | 'number' | 'choice' | 'text' | 'lines' | 'json' | 'names'} kind `names`: a mapping that takes new names
 * @property {readonly unknown[]} choices
 * @property {unknown} fallback the default; undefined for none
 * @property {boolean} isSecret
 * @property {SettingValue | undefined} current
 * @property {Schema} schema
 */

/**
 * @param {Schema} schema of config.yaml
 * @param {readonly SettingValue[]} values
 * @returns {Setting[]}
 */
export function listSettings(schema, values) {
  /** What stands below a path, by its name. @type {Map<string, SettingValue[]>} */
  const below = new Map()
  for (const value of values)
    for (let length = 1; length <= value.path.length; length += 1) {
      const name = nameOf(value.path.slice(0, length))
      below.set(name, [...(below.get(name) ?? []), value])
    }
  const shown = new Set()
  /** @param {Schema} part @param {readonly string[]} path @param {boolean} isSecret @returns {Setting[]} */
  const visit = (part, path, isSecret) => {
    const plain = resolve(part, schema)
    const inner = below.get(nameOf(path)) ?? []
    const hidden = isSecret || plain['writeOnly'] === true || part['writeOnly'] === true
    const named = Object.entries(plain['properties'] ?? {}).flatMap(([key, child]) =>
      visit(/** @type {Schema} */ (child), [...path, key], hidden),
    )
    const entry = plain['additionalProperties']
    if (plain['type'] === 'object' && (named.length > 0 || isSchema(entry))) {
      if (!isSchema(entry)) return named
      const known = new Set(Object.keys(plain['properties'] ?? {}))
      const names = new Set(inner.flatMap(({ path: whole }) => whole[path.length] ?? []))
      const entries = [...names].filter((key) => !known.has(key)).flatMap((key) => visit(entry, [...path, key], hidden))
      return [...named, ...entries, settingOf(plain, path, 'names', undefined, hidden)]
    }
    const current = inner.find((value) => value.path.length === path.length)
    // A mapping where another value may stand, too: what is in it is shown below.
    if (current === undefined && inner.length > 0) return []
    shown.add(current)
    return [settingOf(plain, path, kindOf(plain), current, hidden)]
  }
  const known = visit(schema, [], false)
  const others = values
    .filter((value) => !shown.has(value))
    .map((value) => settingOf({}, value.path, kindOfValue(value.value), value, false))
  return [...known.filter(({ path }) => path.length > 0), ...others]
}

/** The settings of a new entry of a mapping. @param {Schema} schema @param {Setting} mapping @param {string} name */
export function settingsOfEntry(schema, mapping, name) {
  const path = [...mapping.path, name]
  const values = listSettings(nest(path, mapping.schema['additionalProperties'], schema), [])
  return values.map((setting) => ({ ...setting, group: mapping.group }))
}

/** @param {readonly string[]} path @param {Schema} inner @param {Schema} root @returns {Schema} */
function nest([first, ...rest], inner, root) {
  if (first === undefined) return inner
  return { type: 'object', properties: { [first]: nest(rest, inner, root) }, $defs: root['$defs'] }
}

/** @param {readonly string[]} path */
export function nameOf(path) {
  return path.join('.')
}

/**
 * @param {Schema} schema
 * @param {readonly string[]} path
 * @param {Setting['kind']} kind
 * @param {SettingValue | undefined} current
 * @param {boolean} isSecret
 * @returns {Setting}
 */
function settingOf(schema, path, kind, current, isSecret) {
  const [first = '', second] = path
  return {
    path,
    name: nameOf(path),
    group: first === 'platforms' && second !== undefined ? `platforms.${second}` : first,
    description: schema['description'] ?? '',
    kind,
    choices: choicesOf(schema),
    fallback: schema['default'],
    isSecret: isSecret || current?.is_secret === true,
    current,
    schema,
  }
}

/** @param {unknown} value @returns {value is Schema} */
function isSchema(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** @param {Schema} part @param {Schema} root @returns {Schema} */
function resolve(part, root) {
  const name = /^#\/\$defs\/(.+)$/.exec(part['$ref'] ?? '')?.[1]
  return name === undefined ? part : { ...root['$defs']?.[name], ...part }
}

/** The alternatives, those of alternatives included. @param {Schema} schema @returns {Schema[]} */
function alternativesOf(schema) {
  const inner = schema['anyOf'] ?? schema['oneOf']
  return Array.isArray(inner) ? inner.flatMap(alternativesOf) : [schema]
}

/** @param {Schema} schema @returns {readonly unknown[]} */
function choicesOf(schema) {
  const all = alternativesOf(schema).map((part) =>
    part['type'] === 'boolean' ? [true, false] : (part['enum'] ?? ('const' in part ? [part['const']] : undefined)),
  )
  return all.every(Array.isArray) ? all.flat().filter((value) => value !== null && value !== '') : []
}

/** @param {Schema} schema @returns {Setting['kind']} */
function kindOf(schema) {
  const parts = alternativesOf(schema)
  if (parts.every(({ type }) => type === 'boolean')) return 'switch'
  if (choicesOf(schema).length > 0) return 'choice'
  if (parts.every(({ type }) => type === 'number' || type === 'integer')) return 'number'
  const list = parts.find(({ type }) => type === 'array')
  if (list !== undefined && isPlainList(list)) return 'lines'
  return parts.every(({ type }) => type === 'string') ? 'text' : 'json'
}

/** @param {Schema} list */
function isPlainList({ items = {} }) {
  return alternativesOf(items).every(({ type }) => type === 'string' || type === 'integer' || type === 'number')
}

/** @param {unknown} value @returns {Setting['kind']} */
function kindOfValue(value) {
  if (typeof value === 'boolean') return 'switch'
  if (typeof value === 'number') return 'number'
  return typeof value === 'string' || value === null ? 'text' : 'json'
}

/** What a person reads in the field. @param {Setting} setting @param {unknown} value */
export function textOfValue({ kind }, value) {
  if (value === undefined || value === null) return ''
  if (kind === 'lines' && Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return value.join('\n')
  return typeof value === 'string' ? value : JSON.stringify(value, null, kind === 'json' ? 2 : 0)
}

/**
 * The value of what a person has written; undefined for the default. Throws for what is no JSON.
 *
 * @param {Setting} setting
 * @param {string} text
 */
export function valueOfText({ kind, choices }, text) {
  if (text.trim() === '') return undefined
  if (kind === 'number') return Number(text)
  if (kind === 'choice') return choices.find((choice) => String(choice) === text)
  if (kind === 'lines') return linesOf(text)
  return kind === 'json' ? JSON.parse(text) : text
}

/** @param {string} text */
function linesOf(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** Every word stands in the name or in the description. @param {Setting} setting @param {string} words */
export function matchesSetting({ name, description }, words) {
  const text = `${name} ${description}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/[\s_]+/)
    .every((word) => text.includes(word) || text.replaceAll('_', ' ').includes(word))
}
