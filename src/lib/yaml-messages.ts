/**
 * What each kind of YAML error means, in words for people who do not read the specification.
 * The library's own sentences are used only where they cannot quote the file, which may hold secrets.
 */
const meanings: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot bear an anchor or a tag',
  BAD_ALIAS: 'an alias or anchor with a name that cannot be used; put a text that begins with * or & in quotes',
  BAD_DIRECTIVE: 'a directive (%) that is not known; put a text that begins with % in quotes',
  BAD_DQ_ESCAPE: 'an escape (\\) that is not known inside double quotes; use single quotes or double the backslash',
  BAD_INDENT: 'the indentation does not fit the lines above',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place',
  BAD_SCALAR_START: 'a text that begins with a reserved character (@ ` % , | >) must be in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'two keys in one line ("a: b: c"); put a text with ": " in quotes',
  BLOCK_IN_FLOW: 'an indented block inside { } or [ ]',
  KEY_OVER_1024_CHARS: 'a key is longer than 1024 characters',
  MULTILINE_IMPLICIT_KEY: 'a key goes over more than one line; a ":" may be missing',
  MULTIPLE_ANCHORS: 'two anchors (&name) for one value',
  MULTIPLE_TAGS: 'two tags (!name) for one value',
  TAB_AS_INDENT: 'a tab cannot indent; use spaces',
  TAG_RESOLVE_FAILED: 'a tag (!name) that cannot be used; put a text that begins with ! in quotes',
  UNEXPECTED_TOKEN:
    'something that does not belong here: a stray bracket, comma or quote, or a text that needs quotes inside { } or [ ]',
  BAD_COLLECTION_TYPE: 'a tag (!name) that does not fit its value',
  RESOURCE_EXHAUSTION: 'nested too deep to be read',
}

/** @param message the library's sentence, cut where it begins to quote the file */
export function formatYamlMessage(code: string, message: string): string {
  const meaning = meanings[code]
  if (meaning !== undefined) return meaning
  const sentence = message.replace(/:\s.*$/s, '')
  return sentence === '' ? 'not valid YAML' : sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
