/**
 * Marks of the signals that many briefs ask for: in words, in links, in embedded content, and in facts of the source.
 */
import type { KnownSignal } from '../vocabulary/signals.ts'

export interface Marks {
  /** Matches the page's text. */
  text?: RegExp
  /** Matches addresses that the page links to or embeds. */
  link?: RegExp
  /** Names of facts, of a source or of schema.org; any value except `no` counts as yes. */
  facts?: readonly string[]
  /** For these facts, only a matching value counts. */
  fact?: RegExp
}

const BOOKING =
  /(?:yclients|dikidi|n\d+\.(?:yclients|alteg)|alteg\.io|sonline|booksy|calendly|acuityscheduling|fresha|treatwell|setmore|simplybook|bookeo|doctolib|zocdoc|opentable|resdiary|prodoctorov|napopravku|bnovo|travelline|reservi|appointy|squareup\.com\/appointments|rnova|medods)\b/i

export const MARKS: Partial<Record<KnownSignal, Marks>> = {
  whatsapp: {
    text: /whats ?app|ватс?ап|вотс?ап/iu,
    link: /^(?:https?:\/\/(?:wa\.me|api\.whatsapp\.com|web\.whatsapp\.com|chat\.whatsapp\.com)|whatsapp:)/i,
    facts: ['contact:whatsapp'],
  },
  telegram: {
    text: /telegram|телеграм/iu,
    link: /^(?:https?:\/\/(?:t|telegram)\.me\/|tg:)/i,
    facts: ['contact:telegram'],
  },
  instagram: {
    text: /instagram|инстаграм/iu,
    link: /^https?:\/\/(?:www\.)?instagram\.com\/./i,
    facts: ['contact:instagram'],
  },
  vk: {
    text: /вконтакте|(?<![\p{L}.])vk\.com\/\w/iu,
    link: /^https?:\/\/(?:m\.|www\.)?vk\.(?:com|ru)\/./i,
    facts: ['contact:vk'],
  },
  facebook: {
    text: /facebook|фейсбук/iu,
    link: /^https?:\/\/(?:[a-z-]+\.)?(?:facebook|fb)\.com\/./i,
    facts: ['contact:facebook'],
  },
  social: {
    text: /мы в соц\p{L}*[. ]*сет|вконтакте|instagram|facebook|follow us/iu,
    link: /^https?:\/\/(?:[a-z-]+\.)?(?:vk\.(?:com|ru)|ok\.ru|instagram\.com|facebook\.com|fb\.com|youtube\.com|tiktok\.com|linkedin\.com|x\.com|twitter\.com)\/./i,
  },
  online_booking: {
    text: /запис\p{L}* (?:онлайн|через (?:сайт|интернет)|на при[её]м онлайн)|(?:онлайн|электронн\p{L}*)[- ]?запис|онлайн[- ]?брониров|забронировать онлайн|book (?:online|now|an appointment|your appointment|a table)|online (?:booking|appointment|reservation|scheduling)s?|schedule online/iu,
    link: BOOKING,
    facts: ['reservation:website', 'contact:booking', 'acceptsReservations'],
  },
  online_payment: {
    text: /(?:онлайн|через интернет)[- ]?оплат|оплат\p{L}* (?:\p{L}+ )?(?:онлайн|на сайте|через интернет)|pay online|online payments?/iu,
    link: /(?:yookassa|robokassa|cloudpayments|tinkoff\.ru\/(?:kassa|pay)|stripe\.com|paypal\.com|payanyway)/i,
  },
  online_shop: {
    text: /интернет-?\s?магазин|добавить в корзину|в корзину|(?<!\p{L})корзин[аеуы](?!\p{L})|заказ\p{L}* (?:\p{L}+ )?онлайн|add to (?:cart|basket)|online (?:shop|store)|shop online|checkout/iu,
    link: /\/(?:cart|basket|checkout|korzina)(?:[/?.]|$)/i,
  },
  nationwide: {
    text: /(?:достав|отправ|отгруж|отгруз|высыла)\p{L}*[^.!?]{0,40}по (?:всей )?(?:росси|рф|стран|беларус|казахстан)|(?:во? )?все регионы|(?:ship|deliver)\p{L}*[^.!?]{0,30}(?:nationwide|country-?wide|across the (?:uk|us|country)|anywhere in)|nationwide (?:shipping|delivery)/iu,
  },
  cards: {
    text: /(?:прин\p{L}+|оплат\p{L}*|расч[её]т\p{L}*)[^.!?]{0,60}(?:карт(?:ы|ой|ам|ами|у)(?!\p{L})|безнал\p{L}*|visa|мир(?!\p{L}))|карт\p{L}{1,3} (?:visa|мир|mastercard)|эквайринг|(?:accept|take)\p{L}*[^.!?]{0,40}(?:cards?|visa|mastercard)|card payments?|pay by card/iu,
    facts: [
      'payment:cards',
      'payment:visa',
      'payment:mastercard',
      'payment:credit_cards',
      'payment:debit_cards',
      'payment:mir',
      'paymentAccepted',
    ],
    fact: /yes|only|card|visa|карт/i,
  },
  delivery: {
    text: /(?<!\p{L})достав(?:к|им|ля|ит)\p{L}*|\bdeliver(?:y|ies|s|ed)?\b|\bwe deliver/iu,
    facts: ['delivery'],
  },
  parking: {
    text: /парков(?:к|оч)\p{L}*|автостоянк\p{L}*|паркинг\p{L}*|\b(?:car )?parking\b|car park/iu,
    facts: ['parking', 'amenity:parking'],
  },
  wifi: { text: /(?<!\p{L})wi-?fi|вай-?фай/iu, facts: ['internet_access'], fact: /wlan|wifi|yes/i },
  wheelchair: {
    text: /инвалид\p{L}*|пандус\p{L}*|доступн\p{L}{2} сред\p{L}|маломобильн\p{L}*|wheelchair|step-?free|accessible entrance/iu,
    facts: ['wheelchair'],
    fact: /^(?:yes|limited|designated)$/i,
  },
  reviews: {
    text: /(?<!\p{L})отзыв(?:ы|ов|ами|ах|а)?(?!\p{L})|\breviews?\b|testimonials?/iu,
    facts: ['reviewCount', 'ratingCount', 'ratingValue', 'review'],
  },
  hiring: {
    text: /ваканси\p{L}*|требу(?:ется|ются)|(?:ищем|приглашаем)[^.!?]{0,30}(?:на работу|в команду|сотрудник|мастер|продавц|менеджер)|работа у нас|we(?:['’]re| are) hiring|join our team|\bvacanc(?:y|ies)\b|\bcareers\b|job openings|\bhiring\b/iu,
  },
  chat: {
    text: /онлайн[- ]?(?:чат|консультант)|live chat|chat with us/iu,
    link: /(?:jivosite|jivochat|livetex|carrotquest|tawk\.to|intercom|livechatinc|crisp\.chat|bitrix24[^/]*\/.*loader)/i,
  },
  discounts: { text: /(?<!\p{L})скидк\p{L}+|(?<!\p{L})акци(?:я|и|й)(?!\p{L})|discounts?|special offers?|\bsale\b/iu },
}
