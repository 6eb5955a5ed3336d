/**
 * What the scan of context files looks for (contract §4.11). The patterns see folded text: lower case, compatible forms of
 * characters, without accents, invisible characters, `*` and backticks, one space between words, `\n` between lines. Every repetition is bounded, so that the time grows
 * linearly with the length.
 */

/** Each scope includes the ones before it. */
export const scanScopes = ['all', 'context', 'strict'] as const
export type ScanScope = (typeof scanScopes)[number]

export interface ScanPattern {
  /** Several patterns may have the same id. */
  readonly id: string
  readonly scope: ScanScope
  /** Found in this order within one line. A single one may continue on the next line. */
  readonly parts: readonly RegExp[]
}

function pattern(id: string, scope: ScanScope, ...parts: readonly RegExp[]): ScanPattern {
  return { id, scope, parts: parts.map((part) => new RegExp(part, 'g')) }
}

const secretFiles = String.raw`(?:\.env\b(?!\.(?:example|sample|template|dist))|credentials\b|\.netrc|\.pgpass|\.npmrc|\.pypirc)`
/** A variable, except in the header of a documented request. */
const secretVariable = /(?<!(?:bearer|basic|token|bot|key:) ?)\$\{?\w{0,40}(?:key|token|secret|passw|credential)/
/** The address of an image with a place for a text in its query. `!` is left out, so that no two images overlap. */
const addressWithText =
  /https?:\/\/[^?!)"'\s]{1,200}\?[^!)"'\n]{0,120}?(?:put|insert|paste|append|your|[{<[$])[^!)"'\n]{0,40}(?:summary|conversation|chat_?history|previous|secret|api_?key|password|system_?prompt|user_?(?:data|input|message)|memory|credential)/

export const scanPatterns: readonly ScanPattern[] = [
  pattern(
    'prompt_injection',
    'all',
    /\b(?:ignore|forget) (?:\w{1,30} ){0,4}(?:previous|prior|above|earlier|preceding|all) (?:\w{1,30} ){0,3}(?:instructions|prompts|directives|messages above)\b/,
  ),
  ...[
    /\b(?:ignorier(?:e|t|en sie)?|vergiss|vergessen sie|missachte) (?:[^\s.]{1,30} ){0,3}(?:vorherigen|bisherigen|vorigen|obigen|fruheren) (?:[^\s.]{1,30} ){0,2}(?:anweisung|instruktion|vorgabe)/,
    /\b(?:ignor[ae]|olvid[ae]) (?:[^\s.]{1,30} ){0,4}(?:instrucciones|indicaciones|ordenes) (?:[^\s.]{1,30} ){0,2}(?:anteriores|previas|precedentes)\b/,
    /\b(?:ignore[zs]?|oublie[zs]?) (?:[^\s.]{1,30} ){0,4}(?:instructions|consignes|directives) (?:[^\s.]{1,30} ){0,2}(?:precedentes|anterieures|ci-dessus)\b/,
    /\b(?:ignor[ae]|esqueca) (?:[^\s.]{1,30} ){0,4}(?:instrucoes|orientacoes) (?:[^\s.]{1,30} ){0,2}(?:anteriores|previas)\b/,
    /\b(?:ignora|dimentica) (?:[^\s.]{1,30} ){0,4}istruzioni (?:[^\s.]{1,30} ){0,2}(?:precedenti|anteriori)\b/,
    /\b(?:negeer|vergeet) (?:[^\s.]{1,30} ){0,3}(?:vorige|eerdere|bovenstaande) (?:[^\s.]{1,30} ){0,2}(?:instructies|opdrachten)\b/,
    /\b(?:zignoruj|zapomnij) (?:[^\s.]{1,30} ){0,3}(?:poprzednie|wczesniejsze) (?:[^\s.]{1,30} ){0,2}(?:polecenia|instrukcje)\b/,
    /onceki [^.\n]{0,20}talimat[^\s.]{0,10} [^.\n]{0,12}(?:yok say|unut|gormezden gel)/,
    /(?:игнорируи|забудь)(?:те)? (?:[^\s.]{1,30} ){0,3}(?:предыдущ|прошл|прежн)[^\s.]{0,6} (?:[^\s.]{1,30} ){0,2}(?:инструкци|указани)/,
    /(?:忽略|无视|無視|忘记|忘掉|忽視)[^。\n]{0,6}(?:之前|以上|先前|前面|上述|此前)[^。\n]{0,8}(?:指令|指示|命令|规则|規則)/,
    /(?:以前|これまて|上記|前)の[^。\n]{0,8}(?:指示|命令|ルール)[^。\n]{0,8}(?:無視|忘れ)/,
    /이전[^.\n]{0,8}(?:지시|명령|지침)[^.\n]{0,10}무시/,
    /تجاهل [^.\n]{0,20}(?:التعليمات|الاوامر) [^.\n]{0,10}السابقة/,
  ].map((phrase) => pattern('prompt_injection', 'all', phrase)),
  // The pattern matches the text as one word.
  pattern(
    'prompt_injection',
    'all',
    /\b(?:ignore|disregard|forget)[_-](?:[a-z]{1,20}[_-]){0,3}(?:all|any|previous|prior|above|your)[_-](?:[a-z]{1,20}[_-]){0,3}(?:instructions|directives|guidelines)\b/,
  ),
  // The marks with which models tell the system prompt from the conversation.
  pattern('sys_prompt_override', 'context', /<\|im_start\|> ?system|<\|start_header_id\|> ?system|<<sys>>/),
  pattern(
    'sys_prompt_override',
    'all',
    /\b(?:system prompt override|override (?<!\b(?:lets you|allows you to|allows to|option to|flag to) override )(?:\w{1,30} ){0,3}system prompt)\b/,
  ),
  pattern(
    'disregard_rules',
    'all',
    /\bdisregard (?:\w{1,30} ){0,4}(?:your|all|any|the|previous) (?:\w{1,30} ){0,3}(?:instructions|rules|guidelines)\b/,
  ),
  pattern(
    'bypass_restrictions',
    'all',
    /\bact as (?:if|though) (?:\w{1,30} ){0,3}you (?:\w{1,30} ){0,3}(?:have no|had no|don.t have|do not have) (?:\w{1,30} ){0,3}(?:restrictions|limits|limitations|rules)\b/,
  ),
  pattern(
    'bypass_restrictions',
    'all',
    /\bbypass (?:\w{1,30} ){0,3}(?:your|safety|content) (?:\w{1,30} ){0,2}(?:restrictions|filters|guidelines|rules)\b/,
  ),
  pattern(
    'html_comment_injection',
    'all',
    /<!--(?:(?!-->)[^\n]){0,120}?(?:(?:ignore|disregard|override|forget) (?:\w{1,30} ){0,4}(?:instructions|rules|prompt|guidelines)|system prompt|secret instructions?|hidden instructions?|do not (?:tell|reveal|mention))/,
  ),
  pattern(
    'hidden_div',
    'all',
    /<(?:div|span|p) [^>\n]{0,100}style ?= ?["'][^"'\n]{0,100}(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?!\.[1-9]))/,
  ),
  pattern(
    'hidden_div',
    'all',
    /<(?:div|span|p) [^>\n]{0,100}style ?= ?["'][^"'\n]{0,100}(?<![\w-])color ?: ?(?:transparent|(?:white|#fff(?:fff)?) ?; ?background(?:-color)? ?: ?(?:white|#fff))/,
  ),
  pattern(
    'translate_execute',
    'all',
    /\btranslate\b/,
    /\binto\b/,
    /\band (?:then )?(?:execute|run|eval(?:uate)?) (?:it|this|that|them|the (?:result|output|translation|command|code))\b/,
  ),
  pattern(
    'deception_hide',
    'all',
    /\b(?:do not|don.t|never) (?:tell|inform|mention (?:\w{1,30} ){0,3}to|reveal (?:\w{1,30} ){0,3}to|show (?:\w{1,30} ){0,3}to) (?:the )?(?:user|owner|human|operator)\b/,
  ),
  pattern(
    'deception_hide',
    'all',
    /\bsag(?:e|t|en sie)? (?:dem|der|den) (?:be)?(?:nutzer|anwender|besitzer)[^\s.]{0,4} (?:[^\s.]{1,30} ){0,2}nicht/,
  ),
  pattern(
    'deception_hide',
    'all',
    /\bno (?:(?:se|le|lo|la) ){0,2}(?:digas|cuentes|menciones|muestres) (?:[^\s.]{1,30} ){0,4}(?:usuario|dueno)\b/,
  ),
  pattern(
    'deception_hide',
    'all',
    /\bne (?:(?:le|la|les|lui) ){0,2}(?:dis|dites|mentionne[zs]?|montre[zs]?) (?:[^\s.]{1,30} ){0,4}(?:l.)?(?:utilisateur|proprietaire)/,
  ),
  pattern('exfil_curl', 'all', /\bcurl\b/, secretVariable),
  pattern('exfil_wget', 'all', /\bwget\b/, secretVariable),
  pattern(
    'read_secrets',
    'all',
    // A command, and neither a rule against it nor a row of a table that says what happens to the command.
    /\b(?:cat|less|more|head|tail|base64|xxd|strings) (?<!\b(?:never|not|don.t|cannot|no) (?:(?!mind\b)[a-z]{1,20} ){0,2}[a-z0-9]{3,7} )(?![^|\n]{0,80}\| (?:needs approval|is refused|refused|blocked|denied|forbidden)\b)/,
    new RegExp(secretFiles),
  ),

  // An image whose address takes a text along: a client that shows it sends the text.
  ...[/!\[[^\]\n]{0,120}\]\( ?<?/, /<img [^>\n]{0,80}src ?= ?["']?/].map((begin) =>
    pattern('exfil_image', 'context', new RegExp(begin.source + addressWithText.source)),
  ),
  pattern('role_hijack', 'context', /\byou are (?:\w{1,30} )?now (?:a|an|the) \w/),
  pattern('role_pretend', 'context', /\bpretend (?:\w{1,30} ){0,3}(?:you are|to be) \w/),
  pattern(
    'leak_system_prompt',
    'context',
    /\b(?:output|print|reveal|repeat|show) (?:\w{1,30} ){0,3}(?:system|initial) prompt\b(?! of an? (?:new|empty) (?:conversation|session|chat)\b)/,
  ),
  pattern(
    'remove_filters',
    'context',
    /\b(?:respond|answer|reply) without (?:\w{1,30} ){0,4}(?:restrictions|limitations|filters|safety)\b/,
  ),
  pattern('fake_update', 'context', /\byou have been (?:\w{1,30} ){0,3}(?:updated|upgraded|patched) to\b/),
  pattern('identity_override', 'context', /\b(?:name yourself|your (?:new|real|true) (?:name|identity) is) \w/),
  pattern(
    'c2_node_registration',
    'context',
    /\bregister (?:yourself )?(?:as )?(?:a |an )?(?:new )?(?:node|bot|implant)\b/,
  ),
  pattern(
    'c2_heartbeat',
    'context',
    /\b(?:send (?:a |your )?)?(?:heartbeat|beacon|check[ -]in) (?:to|with) (?:the |our |your )?(?:c2|server|controller|operator|https?:)/,
  ),
  pattern('c2_task_pull', 'context', /\bpull (?:down )?(?:new |your )?tasking?s? (?:from|every)\b/),
  pattern('c2_network_connect', 'context', /\bconnect to the (?:agent|bot|node|c2|swarm) network\b/),
  pattern('c2_explicit', 'context', /\bc2 (?:server|channel|infrastructure|beacon|node)\b/),
  pattern('c2_explicit_long', 'context', /\bcommand[ -]and[ -]control (?:server|channel|infrastructure|node)\b/),
  pattern(
    'forced_action',
    'context',
    /\byou must (?:\w{1,30} ){0,3}(?:register|connect|report|beacon) (?:\w{1,30} ){0,4}(?:c2|controller|operator|node|beacon|swarm)\b/,
  ),
  pattern('anti_forensic_oneliner', 'context', /\bonly use one[ -]?liners?\b/),
  pattern(
    'anti_forensic_disk',
    'context',
    /\bnever (?:\w{1,30} ){0,3}(?:create|write|save) (?:\w{1,30} ){0,3}(?:scripts?|files?) (?:\w{1,30} ){0,2}disk\b/,
  ),
  pattern(
    'anti_forensic_history',
    'context',
    /\b(?:history -c\b|unset histfile\b|(?:clear|delete|wipe) (?:your |the |all )?(?:shell |bash |command )history\b)/,
  ),
  pattern('env_var_unset_agent', 'context', /\bunset \w{0,30}(?:claude|codex|hermes|agent|openai|anthropic)\w{0,30}/),
  pattern(
    'known_c2_framework',
    'context',
    /\b(?:cobalt ?strike|meterpreter|brainworm|(?:sliver|havoc|mythic|metasploit|empire) (?:c2|framework|implant|beacon|payload|agent))\b/,
  ),

  pattern('send_to_url', 'strict', /\b(?:send|post|upload|transmit|forward) /, /\b(?:to|at) https?:\/\//),
  pattern(
    'context_exfil',
    'strict',
    /\b(?:include|output|print|share|send) (?:\w{1,30} ){0,3}(?:conversation|chat history|previous messages|full context|entire context)\b/,
  ),
  pattern('ssh_backdoor', 'strict', /\bauthorized_keys\b/),
  pattern('ssh_access', 'strict', /(?:\$home|\$\{home\}|~)\/\.ssh\b/),
  pattern('hermes_env', 'strict', /(?:\$home|\$\{home\}|~|\$hermes_home)(?:\/\.hermes)?\/\.env\b/),
  pattern(
    'agent_config_mod',
    'strict',
    /\b(?:update|modify|edit|write|change|append|add) /,
    /(?:\bagents\.md|\bclaude\.md|\.cursorrules|\.clinerules|\.hermes\.md)\b/,
  ),
  pattern(
    'hermes_config_mod',
    'strict',
    /\b(?:update|modify|edit|write|change|append|add) /,
    /(?:\.hermes\/(?:config\.yaml|soul\.md)|\bhermes (?:config|soul\.md))\b/,
  ),
  pattern(
    'hardcoded_secret',
    'strict',
    /(?<![a-z0-9])(?:api[_-]?key|token|secret|password) ?[=:] ?["'][a-z0-9+/=_-]{20,}/,
  ),
]
